import { REQUIRED } from '../../cli/arguments.ts';
import { persianDigits } from '../../events/persian-digits.ts';
import { adminCommand, idOption } from './command.ts';

type Meter = 'events' | 'profiles';

interface AnnouncementRow {
  meter: Meter;
  month: string;
  percent: number;
  value: number;
  allowance: number;
  created_at: Date;
}

const MAX_ROWS = 1000;
const METERS: Record<Meter, string> = { events: 'رویدادها', profiles: 'پروفایل‌ها' };

/**
 * `./ravand admin announcements`: the notices of used allowances sent to an account (ingest 8),
 * newest first, each with its sentence in Persian.
 */
export const announcements = adminCommand({
  name: 'announcements',
  usage: 'announcements --account ID',
  options: { account: REQUIRED },
  async run(line, { database }) {
    const accountId = idOption(line.values, 'account');
    const answer = await database.query<AnnouncementRow>(
      `SELECT meter, month, percent, value::float8, allowance::float8, created_at FROM announcements WHERE account_id = $1
       ORDER BY created_at DESC, percent DESC LIMIT ${MAX_ROWS}`,
      [accountId],
    );
    return {
      account_id: accountId,
      announcements: answer.rows.map((row) => ({ ...row, text: announcementText(row) })),
    };
  },
});

/** The sentence of an announcement, in Persian. */
export function announcementText({
  meter,
  month,
  percent,
}: Pick<AnnouncementRow, 'meter' | 'month' | 'percent'>): string {
  return `مصرف ${METERS[meter]} در ماه ${persianDigits(month.replace('-', '/'))} به ${persianDigits(String(percent))} درصد سهمیهٔ طرح رسید.`;
}
