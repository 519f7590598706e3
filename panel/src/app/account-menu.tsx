import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation } from '@tanstack/react-query';
import { request } from '../shared/api/request.ts';
import { useSession, type Session } from '../shared/session/session.ts';
import { Disclosure } from '../shared/ui/disclosure.tsx';
import { Icon } from '../shared/ui/icon.tsx';
import { ProblemText } from '../shared/ui/states.tsx';
import styles from './menu.module.css';

/** The account whose data is shown; for a member of several, the others to switch to. */
export function AccountMenu() {
  const { t } = useLingui();
  const { account, accounts } = useSession();
  const change = useMutation({
    mutationFn: (accountId: number) =>
      request<Session>('/api/session/account', {
        method: 'POST',
        body: { account_id: accountId },
      }),
    // Nothing of the other account may stay in memory.
    onSuccess: () => location.assign('/'),
  });
  const name = <span className={styles['name']}>{account.name}</span>;
  if (accounts.length < 2) return name;
  return (
    <Disclosure
      label={t`تعویض حساب؛ حساب کنونی: ${account.name}`}
      content={
        <>
          {name}
          <Icon name="down" />
        </>
      }
    >
      {() => (
        <>
          <p className={styles['title']}>
            <Trans>تعویض حساب</Trans>
          </p>
          {accounts.map(({ id, name: other }) => (
            <button
              key={id}
              type="button"
              className={styles['item']}
              aria-current={id === account.id ? 'true' : undefined}
              disabled={change.isPending}
              onClick={() => change.mutate(id)}
            >
              <span className={styles['name']}>{other}</span>
              {id === account.id ? <Icon name="check" /> : null}
            </button>
          ))}
          {change.error ? (
            <p role="alert" className={styles['problem']}>
              <ProblemText error={change.error} />
            </p>
          ) : null}
        </>
      )}
    </Disclosure>
  );
}
