-- Opens by a person after those of a proxy or a bot are no events: messages-sink copies them to ClickHouse (projections/messages/copy-late-opens.ts).
ALTER TABLE message_recipients ADD COLUMN late_open_copied boolean NOT NULL DEFAULT false;
CREATE INDEX message_recipients_late_opens ON message_recipients (account_id, ref) WHERE opened_by_person_at <> opened_at AND campaign_id <> 0 AND NOT late_open_copied;
