"""The sections of the page, one module each: sentences, charts, and values for a template.

A new section needs a module here with a function that returns a `Section`, a template of the same
name in ``report/templates``, and an entry in one of the lists of ``report.page``.
"""
