"""The sections of the page, one a file: its sentences, its charts, and the data of its template.

A new section is a module here with a function that returns a `Section`, a template of the same name
in ``report/templates``, and an entry in one of the lists of ``report.page``.
"""
