"""The same under the standard library's validator."""

from wsgiref.validate import validator

from places import place

application = validator(place("main"))
mounted = validator(place("mounted"))
