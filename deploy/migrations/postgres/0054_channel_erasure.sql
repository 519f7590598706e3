-- HMAC-SHA-256, under the same key, of each address that only the erased person had ("channel\0address"). Commands that name an address and no person are erased by it.
ALTER TABLE erasures ADD COLUMN address_hashes bytea[] NOT NULL DEFAULT '{}';
CREATE INDEX message_recipients_address ON message_recipients (account_id, channel, address);
