import { statusIn } from './classify-failure.ts';
import { fieldBlocks, reportedAddress } from './report-fields.ts';
import type { Mail } from './read-mail.ts';

/** What a report says about one recipient. */
export interface RecipientReport {
  /** Its names, in lower case; empty when the report names nobody. */
  addresses: readonly string[];
  /** Only `failed` ends a delivery; the others say that it goes on or went well. */
  action: 'failed' | 'delayed' | 'delivered';
  status: string;
  text: string;
}

/** Characters of what a system says that are read. */
const MAX_WORDS = 2000;
const TYPES = new Set(['message/delivery-status', 'message/global-delivery-status']);
const NAMES = ['original-recipient', 'final-recipient', 'x-actual-recipient'];

/** The reports of RFC 3464 in a mail, also of systems that send the fields as text. */
export function deliveryStatus({ parts, text }: Mail): RecipientReport[] {
  const found = parts.filter(({ type }) => TYPES.has(type)).map(({ content }) => content);
  if (found.length === 0 && /^Final-Recipient:/im.test(text) && /^(?:Action|Status):/im.test(text))
    found.push(text);
  return found
    .flatMap((report) => fieldBlocks(report))
    .flatMap((fields) => {
      const code = (fields.get('status') ?? '').slice(0, MAX_WORDS);
      const status = statusIn(code);
      // Some systems write the words instead of the code.
      const reply = fields.get('diagnostic-code') ?? (status === '' ? code : '');
      const words = reply.slice(0, MAX_WORDS);
      const action = actionOf(fields.get('action') ?? '', status || statusIn(words));
      const addresses = NAMES.map((name) => reportedAddress(fields.get(name)));
      const named = addresses.filter((address) => address.includes('@'));
      // The block about the message has none of these.
      if (named.length === 0 && !fields.has('action') && !fields.has('status')) return [];
      return [{ addresses: named, action, ...specific(status, words) }];
    });
}

/** A reply that a system quotes often has a more specific code than the one it derives. */
function specific(status: string, words: string): { status: string; text: string } {
  const quoted = statusIn(words);
  const isBetter = quoted !== '' && !quoted.startsWith('2') && /^$|\.0\.0$/.test(status);
  return { status: isBetter ? quoted : status, text: words };
}

function actionOf(action: string, status: string): RecipientReport['action'] {
  switch (/^[a-z]*/i.exec(action)?.[0].toLowerCase()) {
    case 'delayed':
      return 'delayed';
    case 'delivered':
    case 'relayed':
    case 'expanded':
      return 'delivered';
    default:
      // Some systems write `failure` or `error`.
      return status.startsWith('2') ? 'delivered' : 'failed';
  }
}
