import { Trans, useLingui } from '@lingui/react/macro';
import { useEffect, useRef, useState, type ReactNode } from 'react';
import { Button } from '../ui/button.tsx';
import { Icon } from '../ui/icon.tsx';
import { EventField } from './event-field.tsx';
import styles from './events-field.module.css';

interface Props {
  label: ReactNode;
  hint: ReactNode;
  /** Names of events; an empty one is a row that was added and not filled yet. */
  value: readonly string[];
  onChange: (events: string[]) => void;
}

/** Names of events, a row each. Rows come by a button only: what is below must not move on blur. */
export function EventsField({ label, hint, value, onChange }: Props) {
  const { t } = useLingui();
  const rows = useRef<HTMLUListElement>(null);
  const [added, setAdded] = useState(0);
  useEffect(() => {
    if (added > 0) rows.current?.querySelector<HTMLElement>('li:last-child input')?.focus();
  }, [added]);
  return (
    <fieldset className={styles['events']}>
      <legend>{label}</legend>
      <p>{hint}</p>
      <ul ref={rows}>
        {value.map((event, at) => (
          <li key={at}>
            <EventField
              label={<Trans>رویداد</Trans>}
              isLabelHidden
              value={event}
              onChange={(next) => onChange(value.with(at, next))}
            />
            <Button
              kind="icon"
              aria-label={event === '' ? t`حذف ردیف` : t`حذف ${event}`}
              onClick={() => onChange(value.filter((_, index) => index !== at))}
            >
              <Icon name="close" />
            </Button>
          </li>
        ))}
      </ul>
      <Button
        onClick={() => {
          onChange([...value, '']);
          setAdded(added + 1);
        }}
      >
        <Icon name="plus" />
        <Trans>افزودن رویداد</Trans>
      </Button>
    </fieldset>
  );
}
