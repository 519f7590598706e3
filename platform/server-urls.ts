import type { Setting } from './settings.ts';
import { splitHosts } from './split-hosts.ts';

/** A URL of one or several hosts of the same kind. */
export function serversUrl(options: {
  default: string;
  protocols: readonly string[];
  doc: string;
  problem?: Setting<string>['problem'];
}): Setting<string> {
  const beginnings = options.protocols.map((protocol) => `${protocol}//`).join(' or ');
  return {
    parse(text) {
      const isOne = (one: string) =>
        URL.canParse(one) &&
        options.protocols.includes(new URL(one).protocol) &&
        new URL(one).hostname !== '';
      if (!splitHosts(text).every(isOne))
        throw new Error(`a URL that begins with ${beginnings}, with one host or several: a:1,b:2`);
      return text;
    },
    fallback: options.default,
    fallbackText: options.default,
    unit: 'URL',
    doc: options.doc,
    secret: true,
    ...(options.problem ? { problem: options.problem } : {}),
  };
}
