-- People who sign in to the panel. One person may be a member of several accounts, with one password.
CREATE TABLE members (
  id bigserial PRIMARY KEY,
  -- lower-cased by whoever writes it
  email text NOT NULL UNIQUE CHECK (position('@' in email) > 1 AND octet_length(email) <= 320),
  -- Argon2id in the PHC string form
  password_hash text NOT NULL CHECK (password_hash LIKE '$argon2id$%'),
  -- a session carries the number that it began under: counting it up ends all sessions of the person
  session_generation integer NOT NULL DEFAULT 1,
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  password_changed_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE TABLE memberships (
  member_id bigint NOT NULL REFERENCES members ON DELETE CASCADE,
  account_id bigint NOT NULL REFERENCES accounts,
  role text NOT NULL CHECK (role IN ('owner', 'admin', 'marketer', 'analyst', 'viewer', 'approver', 'finance')),
  created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (member_id, account_id)
);
CREATE INDEX memberships_by_account ON memberships (account_id);
