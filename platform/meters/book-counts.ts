/** What the books count of each account and minute of reception (ARCHITECTURE.md, G6). */
export const COUNTS = [
  'places',
  'repeats',
  'duplicates_after',
  'dead',
  'expired',
  'duplicates_before',
  'rejected',
] as const;
