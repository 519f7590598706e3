/** A campaign as GET /v1/onsite answers it. */
export interface Campaign {
  id: number;
  kind: 'popup' | 'banner' | 'survey' | 'form';
  content: Content;
  fields?: Field[];
  frequency: 'once' | 'session' | 'always';
}

/** Texts are shown as text. */
export interface Content {
  title?: string;
  body?: string;
  /** Shown in place of `body`, in a frame without scripts, when `allowHtml` is set. */
  html?: string;
  image?: { url: string; alt?: string };
  button?: { label: string; url?: string };
  /** Of the button that closes; the defaults of this and the next three are in words.ts. */
  close?: string;
  /** Of the button that sends the answers of a survey or form. */
  submit?: string;
  /** After they were sent. */
  thanks?: string;
  /** Where the host refuses them. */
  refused?: string;
  /** Of a banner; default: bottom. */
  position?: 'top' | 'bottom';
  /** Default: that of `lang`. */
  dir?: 'rtl' | 'ltr';
  /** BCP 47; default: fa. */
  lang?: string;
  /** CSS colour of buttons; their text is white or black, whichever is easier to read. */
  color?: string;
}

export interface Field {
  name: string;
  type: 'text' | 'number' | 'choice' | 'rating';
  /** Default: the name. */
  label?: string;
  required?: boolean;
  options?: string[];
}

const RIGHT_TO_LEFT = /^(fa|ar|he|ur|ps|ckb|sd|ug)\b/;

export function directionOf({ dir, lang = 'fa' }: Content): 'rtl' | 'ltr' {
  return dir ?? (RIGHT_TO_LEFT.test(lang) ? 'rtl' : 'ltr');
}

/** Only addresses that open something for people: no scripts. */
export function safeUrl(url: string | undefined): string | undefined {
  if (!url || !URL.canParse(url, location.href)) return undefined;
  const { protocol, href } = new URL(url, location.href);
  return /^(https?|mailto|tel):$/.test(protocol) ? href : undefined;
}
