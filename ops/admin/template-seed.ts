import { TemplateStore } from '../../messaging/templates/template-store.ts';
import type { Database } from '../../platform/postgres/pool.ts';
import { createTemplate } from './template.ts';

const NAME = '{{ user.first_name | default: "دوست" }}';
const SHOP = 'https://shop.example/offers';
const OFFER = 'این هفته چای لاهیجان و زعفران قائنات با ۱۵ درصد تخفیف به دستتان می‌رسد.';

const EMAIL = {
  ...{ name: 'پیشنهاد این هفته', channel: 'email', category: 'marketing' },
  subject: `${NAME} عزیز، پیشنهاد این هفتهٔ فروشگاه روند`,
  text: `سلام ${NAME}،\n${OFFER}\n\nدیدن پیشنهادها: ${SHOP}\n`,
  html: `<h1>سلام ${NAME}،</h1>\n<p>${OFFER}</p>\n<p><a href="${SHOP}">دیدن پیشنهادها</a></p>\n`,
};

/** The template of the campaign that `./ravand demo` sends; made once, and then left alone. */
export async function seedTemplate(
  database: Pick<Database, 'query'>,
  { accountId, kept }: { accountId: number; kept: number | undefined },
): Promise<number> {
  const known = kept === undefined ? undefined : await new TemplateStore(database).newest(kept);
  if (kept !== undefined && known?.accountId === accountId) return kept;
  const { template_id: made } = await createTemplate(database, { accountId, sent: EMAIL });
  return Number(made);
}
