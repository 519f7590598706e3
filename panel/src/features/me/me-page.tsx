import { Trans, useLingui } from '@lingui/react/macro';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { request } from '../../shared/api/request.ts';
import { Problem } from '../../shared/api/problem.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useSession } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { TextField } from '../../shared/ui/field.tsx';
import { Form } from '../../shared/ui/form.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Banner, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table } from '../../shared/ui/table.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import styles from './me-page.module.css';

interface OwnSession {
  id: string;
  account_id: number;
  began_at: string;
  ip: string | null;
  user_agent: string | null;
  current: boolean;
}

const MIN_LENGTH = 12;

/** The member's own password and sessions. */
export function MePage() {
  const { t } = useLingui();
  const { member } = useSession();
  return (
    <Page title={t`گذرواژه و نشست‌های من`} lead={<bdi>{member.email}</bdi>}>
      <PasswordCard />
      <SessionsCard />
    </Page>
  );
}

function PasswordCard() {
  const { count } = useFormat();
  const queryClient = useQueryClient();
  const [current, setCurrent] = useState('');
  const [password, setPassword] = useState('');
  const change = useMutation({
    mutationFn: () =>
      request('/api/session/password', { method: 'POST', body: { current, password } }),
    onSuccess: async () => {
      setCurrent('');
      setPassword('');
      await queryClient.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  const isWrong =
    change.error instanceof Problem && change.error.facts.code === 'wrong_credentials';
  return (
    <Card title={<Trans>تغییر گذرواژه</Trans>}>
      {change.isSuccess ? (
        <Banner tone="success">
          <Trans>گذرواژه تغییر کرد و نشست‌های دیگر شما پایان یافتند.</Trans>
        </Banner>
      ) : null}
      <div className={styles['narrow']}>
        <Form
          action={<Trans>تغییر گذرواژه</Trans>}
          isBusy={change.isPending}
          error={isWrong ? undefined : change.error}
          onSubmit={() => change.mutate()}
        >
          <TextField
            label={<Trans>گذرواژهٔ کنونی</Trans>}
            type="password"
            dir="ltr"
            autoComplete="current-password"
            required
            value={current}
            error={isWrong ? <Trans>گذرواژهٔ کنونی درست نیست.</Trans> : undefined}
            onChange={(event) => setCurrent(event.target.value)}
          />
          <TextField
            label={<Trans>گذرواژهٔ تازه</Trans>}
            hint={
              <Trans>دست‌کم {count(MIN_LENGTH)} نویسه؛ جمله‌ای که تنها شما می‌دانید خوب است.</Trans>
            }
            type="password"
            dir="ltr"
            autoComplete="new-password"
            minLength={MIN_LENGTH}
            required
            value={password}
            onChange={(event) => setPassword(event.target.value)}
          />
        </Form>
      </div>
    </Card>
  );
}

function SessionsCard() {
  const { t } = useLingui();
  const { dateTime } = useFormat();
  const queryClient = useQueryClient();
  const { data, error, refetch } = useQuery({
    queryKey: ['sessions'],
    queryFn: ({ signal }) => request<{ sessions: OwnSession[] }>('/api/sessions', { signal }),
  });
  const end = useMutation({
    mutationFn: (id: string) => request(`/api/sessions/${id}`, { method: 'DELETE' }),
    onSuccess: () => queryClient.invalidateQueries({ queryKey: ['sessions'] }),
  });
  return (
    <Card title={<Trans>نشست‌ها</Trans>}>
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading />
      ) : (
        <Table
          label={t`نشست‌ها`}
          rows={data.sessions}
          rowKey={({ id }) => id}
          columns={[
            {
              key: 'began',
              header: <Trans>آغاز</Trans>,
              isRowHeader: true,
              cell: ({ began_at }) => dateTime(Date.parse(began_at)),
            },
            {
              key: 'ip',
              header: <Trans>نشانی شبکه</Trans>,
              cell: ({ ip }) => <code>{ip ?? '–'}</code>,
            },
            {
              key: 'agent',
              header: <Trans>مرورگر</Trans>,
              cell: ({ user_agent }) => <bdi>{user_agent ?? '–'}</bdi>,
            },
            {
              key: 'end',
              header: (
                <span className="visually-hidden">
                  <Trans>پایان دادن</Trans>
                </span>
              ),
              cell: ({ id, current }) =>
                current ? (
                  <Tag tone="accent">
                    <Trans>همین نشست</Trans>
                  </Tag>
                ) : (
                  <Button kind="quiet" disabled={end.isPending} onClick={() => end.mutate(id)}>
                    <Trans>پایان دادن</Trans>
                  </Button>
                ),
            },
          ]}
        />
      )}
    </Card>
  );
}
