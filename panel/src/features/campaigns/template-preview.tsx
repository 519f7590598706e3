import { Trans, useLingui } from '@lingui/react/macro';
import { useFormat } from '../../shared/format/use-format.ts';
import { MailFrame } from './mail-frame.tsx';
import type { Template } from './queries.ts';
import { smsSegments } from './sms-segments.ts';
import { textDirection } from './text-direction.ts';
import styles from './campaigns.module.css';

/** How a template looks where it arrives: a phone, a mail client; its variables stay visible. */
export function TemplatePreview({ template }: { template: Pick<Template, 'channel' | 'content'> }) {
  const { t } = useLingui();
  const { count } = useFormat();
  const { channel, content } = template;
  const { subject = '', title = '', text = '', html = '' } = content;
  if ([subject, title, text, html].every((part) => part === '')) return null;
  if (channel === 'email')
    return (
      <figure className={styles['mail']} aria-label={t`پیش‌نمایش ایمیل`}>
        <figcaption dir={textDirection(subject)}>{subject}</figcaption>
        {html === '' ? <p dir={textDirection(text)}>{text}</p> : <MailFrame html={html} />}
      </figure>
    );
  const sms = channel === 'sms' ? smsSegments(text) : undefined;
  return (
    <figure className={styles['phone']} aria-label={t`پیش‌نمایش روی گوشی`}>
      {title === '' ? null : (
        <strong dir={textDirection(title)} className={styles['title']}>
          {title}
        </strong>
      )}
      <p dir={textDirection(text)}>{text}</p>
      {sms ? (
        <figcaption>
          <Trans>
            {count(sms.characters)} نویسه، {count(sms.segments)} بخش پیامک
          </Trans>
        </figcaption>
      ) : null}
    </figure>
  );
}
