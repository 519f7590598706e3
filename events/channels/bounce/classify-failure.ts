/** A failed delivery, as far as it is known. */
export interface Failure {
  /** `5.1.1`: an enhanced status code (RFC 3463); empty when there is none. */
  status: string;
  /** What the system said in words, with the code of its SMTP reply. */
  text: string;
}

/** `hard`: the address receives nothing any more. `soft`: this message did not arrive. */
export type FailureClass = 'hard' | 'soft';

/** Codes that say that there is no such mailbox, system or domain. */
const HARD = new Set(['1.1', '1.2', '1.3', '1.6', '1.10', '2.1', '4.4', '4.310']);
/** Codes that systems send for anything: the words decide. */
const UNSPECIFIC = new Set([
  ...['0.0', '1.0', '1.4', '2.0', '3.0', '4.0', '4.1', '5.0', '5.1', '6.0', '7.0', '7.1'],
]);
/** Those that mean a dead address when the words say nothing. */
const HARD_BY_DEFAULT = new Set(['0.0', '1.0']);

const IS_RATE =
  /too (?:quickly|fast|many)|at a rate|rate.?limit|try again later|temporar(?:y|ily)|throttl/i;
const IS_FULL =
  /(?:over|exceed\w*) (?:\w+ ){0,2}(?:quota|storage)|quota (?:exceeded|full|violation)|(?:box|folder) (?:is )?full|(?:insufficient|not enough|out of) (?:\w+ )?(?:storage|space)|too (?:many messages|much mail)/i;
const IS_SENDER =
  /sender(?:'s)? (?:address|domain|verif|reject|not |is )|(?:bad|invalid|unknown) sender|reverse (?:dns|lookup)|\bhelo\b/i;
const IS_POLICY =
  /spam|junk|black.?list|block.?list|\bblocked|\bbanned|\brbl\b|dnsbl|spamhaus|reputation|policy|dmarc|dkim|\bspf\b|authenticat|not (?:authori[sz]ed|permitted|allowed)|relay|virus|malware|content|grey.?list|too (?:large|big|long)|\bsize\b|message limit|hop|\bloop/i;
const WHO = '(?:user(?:id)?|recipient|addressee|mailbox|account|address|alias|person)';
const GONE = [
  'not (?:known|found|recogni[sz]ed|listed|exist\\w*|valid|active|available)',
  ...['unknown', 'invalid', 'unavailable', 'inactive', 'wrong', "does(?: not|n't) exist"],
  ...['disabled', 'deactivated', 'discontinued', 'suspended', 'closed', 'no longer'],
].join('|');
const IS_UNKNOWN = new RegExp(
  [
    `${WHO}(?: name)?(?: [\\w.'"<>()@+-]{1,80}){0,2} (?:(?:is|was|has been) )?(?:${GONE})`,
    `(?:unknown|no such|invalid|illegal|bad|not a valid|non-?existent) (?:[\\w-]+ ){0,2}(?:${WHO}|host|domain|destination)`,
    "no (?:mailbox|valid recipients)|does(?: not|n't) (?:exist|have an? )|not our customer|unrouteable",
    "(?:host|domain)(?: name)?(?: [\\w.'\"<>-]{1,80})? (?:not (?:found|exist)|unknown|does(?: not|n't) exist)",
    "nxdomain|null mx|couldn't find any host|recipient address rejected: access denied|not listed in",
  ].join('|'),
  'i',
);
const IS_REJECTED = /(?:recipient|address) rejected|rejected (?:the )?(?:recipient|address)/i;
const IS_UNSURE = /^(?:552|554|556|571)/;

/**
 * Whether an address is dead (docs/channels.md, Bounces). The code decides; where it is unspecific
 * or absent, the words do. Refusals for what a message holds, for its size or for the reputation of
 * the sender say nothing about the address, so they are soft: only five of them suppress it.
 */
export function classifyFailure({ status, text }: Failure): FailureClass {
  const [kind = '', subject, detail] = status.split('.');
  const code = `${subject ?? ''}.${detail ?? ''}`;
  if (kind === '4') return 'soft';
  if (kind === '5' && HARD.has(code)) return code === '2.1' && IS_RATE.test(text) ? 'soft' : 'hard';
  if (kind === '5' && !UNSPECIFIC.has(code)) return 'soft';
  const reply = /(?<![\d.#])([45]\d\d)(?=[ -](?!\d))/.exec(text)?.[1] ?? '';
  if (kind === '' && reply.startsWith('4')) return 'soft';
  if (IS_FULL.test(text) || IS_SENDER.test(text)) return 'soft';
  const isPolicy = IS_POLICY.test(text) || IS_RATE.test(text);
  // Words about a missing mailbox beat those of a policy, except where the code is of a policy.
  if (IS_UNKNOWN.test(text) && !(isPolicy && code.startsWith('7'))) return 'hard';
  if (isPolicy) return 'soft';
  if (IS_REJECTED.test(text)) return 'hard';
  if (IS_UNSURE.test(reply)) return 'soft';
  if (HARD_BY_DEFAULT.has(code)) return 'hard';
  return kind === '' && /^55[013]/.test(reply) ? 'hard' : 'soft';
}

/** The first enhanced status code of a text, a failure before a success; empty without one. */
export function statusIn(text: string): string {
  const codes = [...text.matchAll(/(?<![\d.])([245]\.[0-7]\.\d{1,3})(?!\.?\d)/g)].map(
    ([, code = '']) => code,
  );
  return codes.find((code) => !code.startsWith('2')) ?? codes[0] ?? '';
}
