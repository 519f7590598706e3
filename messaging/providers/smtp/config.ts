import { createPrivateKey, type KeyObject } from 'node:crypto';
import { domainToASCII } from 'node:url';
import { isJsonObject, jsonObject } from '../../../events/json.ts';
import { ConfigFields } from '../config-fields.ts';

export interface Mailbox {
  /** Empty: none. */
  name: string;
  address: string;
}

export interface SmtpConfig {
  host: string;
  port: number;
  /** TLS from the first byte; otherwise STARTTLS. */
  secure: boolean;
  /** Empty: no login. */
  username: string;
  from: Mailbox;
  replyTo: Mailbox | undefined;
  /** Domain of the VERP envelope senders; empty: bounces go to `from`. */
  bounceDomain: string;
}

const FIELDS = ['host', 'port', 'secure', 'username', 'from', 'reply_to', 'bounce_domain'];

export function parseSmtpConfig(json: unknown): SmtpConfig {
  const fields = new ConfigFields('smtp', json, FIELDS);
  const secure = fields.flag('secure', false);
  const replyTo = fields.text('reply_to', '');
  return {
    host: fields.text('host'),
    port: fields.port('port'),
    secure,
    username: fields.text('username', ''),
    from: mailbox(fields.text('from'), 'from'),
    replyTo: replyTo === '' ? undefined : mailbox(replyTo, 'reply_to'),
    bounceDomain: bounceDomain(fields.text('bounce_domain', '')),
  };
}

/** `Name <address>` or `address`. Throws an Error with a sentence. */
function mailbox(text: string, field: string): Mailbox {
  const [, name = '', inside] = /^(.*?)\s*<([^<>]*)>$/.exec(text) ?? [];
  const address = asciiAddress((inside ?? text).trim());
  if (address === undefined)
    throw new Error(
      `smtp: ${field} has to be an e-mail address or a name with one: Shop <news@shop.example>`,
    );
  return { name: name.replace(/^"(.*)"$/, '$1').trim(), address };
}

function bounceDomain(text: string): string {
  const domain = text === '' ? '' : domainToASCII(text);
  if (text !== '' && !/^[a-z0-9.-]+$/.test(domain))
    throw new Error('smtp: bounce_domain has to be a domain such as bounce.shop.example');
  return domain;
}

/** The address with its domain in ASCII; undefined for what no mail can be sent to. */
export function asciiAddress(text: string): string | undefined {
  const [, local = '', host = ''] = /^([^\s<>()[\]\\,;:"@\p{Cc}]+)@([^\s<>@]+)$/u.exec(text) ?? [];
  const domain = domainToASCII(host);
  const isPlain = local !== '' && !/^\.|\.\.|\.$/.test(local);
  return isPlain && /^[a-z0-9-]+(\.[a-z0-9-]+)*$/.test(domain) ? `${local}@${domain}` : undefined;
}

export function domainOf(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

export interface DkimKey {
  domain: string;
  selector: string;
  /** RSA. */
  key: KeyObject;
}

export interface SmtpSecret {
  /** Empty: none. */
  password: string;
  dkim: DkimKey | undefined;
}

/**
 * The secret of an SMTP sender: the password as it is, or JSON `{"password"?, "dkim"?: {"domain"?,
 * "selector", "private_key"}}` with an RSA key in PEM. Throws an Error with a sentence.
 */
export function parseSmtpSecret(secret: string, from: Mailbox): SmtpSecret {
  const json = secret.trimStart().startsWith('{') ? parsed(secret) : undefined;
  if (!isJsonObject(json)) return { password: secret.replace(/\r?\n$/, ''), dkim: undefined };
  const unknown = Object.keys(json).find((name) => name !== 'password' && name !== 'dkim');
  const { password = '', dkim } = json;
  if (unknown !== undefined || typeof password !== 'string')
    throw new Error('smtp: the secret has to be a password or {"password": …, "dkim": {…}}');
  return { password, dkim: dkim === undefined ? undefined : dkimKey(dkim, from) };
}

function dkimKey(json: unknown, from: Mailbox): DkimKey {
  const { domain = domainOf(from.address), selector, private_key: pem } = jsonObject(json) ?? {};
  if (typeof domain !== 'string' || typeof selector !== 'string' || typeof pem !== 'string')
    throw new Error('smtp: dkim has to be {"domain"?, "selector", "private_key"}');
  if (!/^[A-Za-z0-9._-]+$/.test(selector) || !/^[A-Za-z0-9.-]+$/.test(domain))
    throw new Error('smtp: the domain and the selector of dkim have to be DNS names');
  return { domain, selector, key: rsaKey(pem) };
}

function rsaKey(pem: string): KeyObject {
  const key = privateKey(pem);
  const bits = key?.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key?.asymmetricKeyType !== 'rsa' || bits < 1024)
    throw new Error(
      'smtp: private_key of dkim has to be an RSA key in PEM, of 1024 bits or more (only RSA keys can sign)',
    );
  return key;
}

function privateKey(pem: string): KeyObject | undefined {
  try {
    return createPrivateKey(pem);
  } catch {
    return undefined;
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
