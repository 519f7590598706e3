import { hash } from 'node:crypto';

/** Of a campaign: all its runs withhold the same people. */
interface ControlGroup {
  campaignId: number;
  /** 0 to 50. */
  percent: number;
}

/**
 * Whether a campaign withholds its messages from a person, as the baseline of uplift: decided by
 * the first 32 bits of SHA-256 over the campaign, NUL and the canonical person. The groups of two
 * campaigns are independent, and members of a group stay in it when the percentage rises.
 */
export function isInControlGroup(group: ControlGroup, personId: string): boolean {
  const digest = hash('sha256', `${group.campaignId}\0${personId}`, 'buffer');
  return digest.readUInt32BE(0) < hashesBelow(group);
}

/** The same in ClickHouse, a Bool. @param person an expression of the canonical person */
export function controlGroupSql(group: ControlGroup, person: string): string {
  if (group.percent === 0) return 'false';
  const digest = `SHA256(concat('${group.campaignId}\\0', ${person}))`;
  const bits = `reinterpretAsUInt32(reverse(substring(${digest}, 1, 4)))`;
  return `CAST(${bits} < ${hashesBelow(group)} AS Bool)`;
}

/** People whose 32 bits are below it are in the group. */
function hashesBelow({ percent }: ControlGroup): number {
  return Math.floor((percent / 100) * 2 ** 32);
}
