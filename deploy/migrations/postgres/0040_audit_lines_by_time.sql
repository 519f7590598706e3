-- ./ravand changes --since reads what was decided in a period, of all accounts.
CREATE INDEX audit_lines_by_time ON audit_lines (at);
