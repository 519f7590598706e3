import type { Content } from './campaign.ts';

type Words = Required<Pick<Content, 'close' | 'submit' | 'thanks' | 'refused'>>;

const PERSIAN: Words = {
  close: 'بستن',
  submit: 'فرستادن',
  thanks: 'سپاس از شما',
  refused: 'لطفاً پاسخ‌ها را بررسی کنید.',
};
const ENGLISH: Words = {
  close: 'Close',
  submit: 'Send',
  thanks: 'Thank you',
  refused: 'Please check your answers.',
};

/** What buttons and answers say: as the campaign has it, or else in its language. */
export function wordsOf(content: Content): Words {
  const { lang = 'fa' } = content;
  const { close, submit, thanks, refused } = /^fa\b/.test(lang) ? PERSIAN : ENGLISH;
  return {
    close: content.close ?? close,
    submit: content.submit ?? submit,
    thanks: content.thanks ?? thanks,
    refused: content.refused ?? refused,
  };
}
