import { truncateBytes } from '../../events/bytes.ts';

const MAX_BYTES = 300;

/** One short line, for a row. It may name the recipient: it is not logged. */
export function shortDetail(text: string): string {
  return truncateBytes(text.replaceAll(/\s+/g, ' ').trim(), MAX_BYTES);
}

/** A short detail without the secret of the sender, which a provider may repeat. */
export function detailWithout(secret: string, text: string): string {
  const forms = secret === '' ? [] : [secret, encodeURIComponent(secret)];
  return shortDetail(forms.reduce((shown, form) => shown.replaceAll(form, '[secret]'), text));
}
