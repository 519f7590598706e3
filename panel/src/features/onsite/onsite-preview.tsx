import { Trans } from '@lingui/react/macro';
import type { OnsiteField, OnsiteKind } from '../../../../events/channels/onsite/definition.ts';
import type { OnsiteContent } from './onsite.ts';
import styles from './onsite.module.css';

/** About what a visitor sees; the site's SDK decides the looks. */
export function OnsitePreview({
  kind,
  content: { title, text, button },
  fields,
}: {
  kind: OnsiteKind;
  content: OnsiteContent;
  fields: readonly OnsiteField[];
}) {
  return (
    <section className={styles['preview']}>
      <p>
        <Trans>پیش‌نمایش</Trans>
      </p>
      <div className={`${styles['frame']} ${kind === 'banner' ? styles['banner'] : ''}`}>
        {title ? <h3 dir="auto">{title}</h3> : null}
        {text ? <p dir="auto">{text}</p> : null}
        {fields.map(({ name, required }) => (
          <p key={name} dir="auto">
            {name}
            {required ? ' *' : ''}
          </p>
        ))}
        {button ? (
          <span className={styles['button']} dir="auto">
            {button.text}
          </span>
        ) : null}
      </div>
    </section>
  );
}
