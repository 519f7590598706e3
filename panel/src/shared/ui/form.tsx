import { Trans } from '@lingui/react/macro';
import type { ReactNode } from 'react';
import { Button } from './button.tsx';
import styles from './form.module.css';
import { ProblemText } from './states.tsx';

/** Fields, what is wrong with them together, and the button that sends them. */
export function Form({
  children,
  action,
  isBusy,
  error,
  onSubmit,
  onCancel,
}: {
  children: ReactNode;
  /** Of the button. */
  action: ReactNode;
  isBusy: boolean;
  error: unknown;
  onSubmit: () => void;
  onCancel?: () => void;
}) {
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
      {error ? (
        <p role="alert" className={styles['problem']}>
          <ProblemText error={error} />
        </p>
      ) : null}
      <div className={styles['buttons']}>
        {onCancel ? (
          <Button onClick={onCancel}>
            <Trans>انصراف</Trans>
          </Button>
        ) : null}
        <Button kind="primary" type="submit" isBusy={isBusy}>
          {action}
        </Button>
      </div>
    </form>
  );
}
