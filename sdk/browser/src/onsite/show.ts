import { directionOf, safeUrl, type Campaign } from './campaign.ts';
import { element } from './element.ts';
import { answersOf, inputOf } from './fields.ts';
import { STYLE } from './style.ts';
import { wordsOf } from './words.ts';

export interface Shown {
  allowHtml: boolean;
  clicked: () => void;
  /** Closed by the visitor. */
  dismissed: () => void;
  /** False: the answers are refused. */
  submit: (answers: Record<string, string>) => Promise<boolean>;
}

/** Shows a campaign in a shadow root. Resolves when it is gone. */
export async function show(campaign: Campaign, on: Shown): Promise<void> {
  const { kind, content, fields = [] } = campaign;
  const isModal = kind === 'popup' || kind === 'form';
  const { title, lang = 'fa', position = 'bottom', color } = content;
  const host = element('div', { 'data-ravand': kind });
  const root = host.attachShadow({ mode: 'open' });
  // The policy of a page for styles does not forbid this form of them.
  const style = new CSSStyleSheet();
  style.replaceSync(STYLE);
  root.adoptedStyleSheets = [style];
  const box = element(isModal ? 'dialog' : 'section', {
    class: `box ${kind} ${position}`,
    lang,
    dir: directionOf(content),
    'aria-label': title ?? content.body ?? kind,
  });
  if (color) box.style.setProperty('--color', color);
  root.append(box);
  let before = document.activeElement as HTMLElement | null;
  // Somebody may come to a banner from another element than the one of its beginning.
  root.addEventListener('focusin', (event) => {
    const from = (event as FocusEvent).relatedTarget;
    if (from instanceof HTMLElement && !root.contains(from)) before = from;
  });

  await new Promise<void>((end) => {
    let isSubmitted = false;
    const dismiss = () => {
      if (!isSubmitted) on.dismissed();
      end();
    };
    // The browser closes a dialog on Escape, and says so.
    box.addEventListener('cancel', dismiss);
    box.addEventListener('keydown', (event) => {
      if (!isModal && (event as KeyboardEvent).key === 'Escape') dismiss();
    });
    box.append(...textOf(campaign, on.allowHtml));
    const submit: Shown['submit'] = async (answers) =>
      (isSubmitted = (await on.submit(answers)) || isSubmitted);
    const actions = { ...on, submit, dismiss, end };
    box.append(fields.length > 0 ? formOf(campaign, actions) : buttonsOf(campaign, actions));
    document.body.append(host);
    if (box instanceof HTMLDialogElement) box.showModal();
  });
  const isFocused = document.activeElement === host;
  host.remove();
  if (isModal || isFocused) before?.focus();
}

type Actions = Shown & { dismiss: () => void; end: () => void };

function textOf({ kind, content }: Campaign, allowHtml: boolean): HTMLElement[] {
  const { title, body, html, image } = content;
  const src = safeUrl(image?.url);
  const parts: HTMLElement[] = [];
  if (title) parts.push(element('h2', {}, title));
  if (src) parts.push(element('img', { src, alt: image?.alt ?? '' }));
  if (html && allowHtml)
    parts.push(element('iframe', { sandbox: 'allow-popups', srcdoc: html, title: title ?? kind }));
  else if (body) parts.push(element('p', {}, body));
  return parts;
}

function buttonsOf({ content }: Campaign, { clicked, dismiss, end }: Actions): HTMLElement {
  const { button } = content;
  const href = safeUrl(button?.url);
  const row = element('div', { class: 'buttons' });
  if (button) {
    const attributes = { class: 'button main', href, type: href ? undefined : 'button' };
    const main = element(href ? 'a' : 'button', attributes, button.label);
    main.addEventListener('click', () => {
      clicked();
      end();
    });
    row.append(main);
  }
  row.append(buttonOf(wordsOf(content).close, dismiss));
  return row;
}

function formOf({ content, fields = [] }: Campaign, { submit, dismiss, end }: Actions) {
  const { close, submit: label, thanks, refused } = wordsOf(content);
  const problem = element('p', { class: 'error', role: 'alert' });
  const send = element('button', { class: 'button main' }, label);
  const row = element('div', { class: 'buttons' }, send, buttonOf(close, dismiss));
  const inputs = fields.map((field) => inputOf(field, content.lang));
  const form = element('form', {}, ...inputs, problem, row);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send.disabled = true;
    void submit(answersOf(form)).then((isAccepted) => {
      send.disabled = false;
      problem.textContent = isAccepted ? '' : refused;
      if (!isAccepted) return;
      const done = buttonOf(close, end);
      form.replaceWith(element('p', { role: 'status' }, thanks), done);
      done.focus();
    });
  });
  return form;
}

function buttonOf(label: string, click: () => void): HTMLButtonElement {
  const button = element('button', { type: 'button', class: 'button' }, label);
  button.addEventListener('click', click);
  return button;
}
