import { ConfigFields } from '../config-fields.ts';

export interface SmppConfig {
  host: string;
  port: number;
  /** TLS from the first byte. */
  secure: boolean;
  systemId: string;
  /** The number, short code or name that messages come from. */
  source: string;
}

export function parseSmppConfig(json: unknown): SmppConfig {
  const fields = new ConfigFields('smpp', json, ['host', 'port', 'secure', 'system_id', 'source']);
  const config = {
    host: fields.text('host'),
    port: fields.port('port'),
    secure: fields.flag('secure', false),
    systemId: fields.text('system_id'),
    source: fields.text('source'),
  };
  // The field ends with a zero byte and has no more bytes in SMPP 3.4.
  if (!/^[\x21-\x7e]{1,15}$/.test(config.systemId))
    throw new Error('smpp: system_id has to be at most 15 characters of ASCII, without spaces');
  if (!/^(?:\+?\d{1,20}|[A-Za-z0-9 ._-]{1,11})$/.test(config.source))
    throw new Error(
      'smpp: source has to be a number, or a name of at most 11 characters of A-Z a-z 0-9 . _ -',
    );
  return config;
}

interface SourceAddress {
  source_addr: string;
  /** Type of number: 0 unknown, 1 international, 5 alphanumeric. */
  source_addr_ton: number;
  /** Numbering plan: 0 unknown, 1 E.164. */
  source_addr_npi: number;
}

export function sourceAddress(source: string): SourceAddress {
  if (source.startsWith('+'))
    return { source_addr: source.slice(1), source_addr_ton: 1, source_addr_npi: 1 };
  return /^\d+$/.test(source)
    ? { source_addr: source, source_addr_ton: 0, source_addr_npi: 1 }
    : { source_addr: source, source_addr_ton: 5, source_addr_npi: 0 };
}
