import type { Entry } from '../entry.ts';

export const visitorOf = (entry: Entry) => ({
  user_id: entry.userId(),
  anonymous_id: entry.anonymousId(),
});
