import type { Field } from './campaign.ts';
import { element } from './element.ts';

const RATINGS = ['1', '2', '3', '4', '5'];
/** As the host takes it: 4096 bytes. */
const MAX_CHARACTERS = '1000';

/** The input of a field with its label. */
export function inputOf(
  { name, type, label = name, required, options = [] }: Field,
  lang = 'fa',
): HTMLElement {
  const needed = required ? '' : undefined;
  if (type === 'text' || type === 'number') {
    const inputmode = type === 'number' ? 'decimal' : undefined;
    const attributes = {
      name,
      required: needed,
      inputmode,
      maxlength: MAX_CHARACTERS,
      dir: 'auto',
    };
    return element('label', {}, label, element('input', attributes));
  }
  const digits = digitsOf(lang);
  const choices = (type === 'rating' ? RATINGS : options).map((value) => {
    const input = element('input', { type: 'radio', name, value, required: needed });
    return element('label', {}, input, type === 'rating' ? digits.format(+value) : value);
  });
  const row = element('div', { class: 'options' }, ...choices);
  return element('fieldset', {}, element('legend', {}, label), row);
}

/** An operator may write a language that browsers do not know. */
function digitsOf(lang: string): Intl.NumberFormat {
  try {
    return new Intl.NumberFormat(lang);
  } catch {
    return new Intl.NumberFormat();
  }
}

/** What was entered, as texts: the host reads numbers in Persian digits, too. */
export function answersOf(form: HTMLFormElement): Record<string, string> {
  const answers: Record<string, string> = {};
  for (const [name, value] of new FormData(form)) {
    const text = typeof value === 'string' ? value.trim() : '';
    if (text) answers[name] = text;
  }
  return answers;
}
