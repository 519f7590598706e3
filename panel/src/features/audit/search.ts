/** Beginnings of the actions by which lines can be filtered. */
export const SUBJECTS = [
  ...(['member.', 'write_key.', 'management_key.', 'segment.', 'campaign.'] as const),
  ...(['saved_report.', 'relay.'] as const),
] as const;
export type Subject = (typeof SUBJECTS)[number];

export interface AuditSearch {
  about?: Subject;
}

export function readAuditSearch({ about }: Record<string, unknown>): AuditSearch {
  const found = SUBJECTS.find((one) => one === about);
  return found ? { about: found } : {};
}
