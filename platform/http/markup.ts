/** Text that is HTML already: made by `markup` only. */
export interface Html {
  readonly html: string;
}

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** HTML from a template: every value is escaped that is not HTML itself. */
export function markup(
  texts: TemplateStringsArray,
  ...values: readonly (string | Html | readonly Html[])[]
): Html {
  const parts = values.map((value, at) => {
    const written =
      typeof value === 'string'
        ? value.replace(/[&<>"']/g, (character) => ESCAPES[character] ?? '')
        : [value]
            .flat()
            .map((part) => part.html)
            .join('');
    return written + (texts[at + 1] ?? '');
  });
  return { html: (texts[0] ?? '') + parts.join('') };
}
