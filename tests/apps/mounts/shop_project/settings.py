"""As little as Django needs."""

SECRET_KEY = "for tests only"
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "shop_project.urls"
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
