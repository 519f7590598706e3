declare module 'html-to-text' {
  export interface Selector {
    selector: string;
    format?: string;
    options?: Readonly<Record<string, unknown>>;
  }
  export interface Options {
    wordwrap?: number | false;
    limits?: { maxDepth?: number; ellipsis?: string };
    selectors?: readonly Selector[];
  }
  export function compile(options: Options): (html: string) => string;
}
