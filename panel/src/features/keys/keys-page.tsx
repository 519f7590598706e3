import { Trans, useLingui } from '@lingui/react/macro';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useNow } from '../../shared/format/use-now.ts';
import { useFormat } from '../../shared/format/use-format.ts';
import { useRoleName } from '../../shared/session/role-name.ts';
import { useMay } from '../../shared/session/session.ts';
import { Button } from '../../shared/ui/button.tsx';
import { Card } from '../../shared/ui/card.tsx';
import { Icon } from '../../shared/ui/icon.tsx';
import { Page } from '../../shared/ui/page.tsx';
import { Empty, Loading, ProblemState } from '../../shared/ui/states.tsx';
import { Table, type Column } from '../../shared/ui/table.tsx';
import { Tag } from '../../shared/ui/tag.tsx';
import { NewManagementKey, NewWriteKey } from './new-key.tsx';
import { keysQuery, type ManagementKey, type WriteKey } from './queries.ts';
import { RevokeKey, type Revoked } from './revoke-key.tsx';

/** Write keys and management keys. */
export function KeysPage() {
  const { t } = useLingui();
  const may = useMay();
  const { data, error, refetch } = useQuery(keysQuery);
  const [making, setMaking] = useState<'write' | 'management'>();
  const [revoking, setRevoking] = useState<Revoked>();
  const canWrite = may('apikey.write');
  const add = (kind: 'write' | 'management') =>
    canWrite ? (
      <Button kind="primary" onClick={() => setMaking(kind)}>
        <Icon name="plus" />
        <Trans>کلید تازه</Trans>
      </Button>
    ) : undefined;
  const close = () => setMaking(undefined);
  return (
    <Page
      title={t`کلیدها`}
      lead={t`کلید نوشتن در سایت و اپلیکیشن است و تنها رویداد می‌فرستد؛ کلید مدیریت محرمانه است و روی سرور می‌ماند.`}
    >
      {error ? (
        <ProblemState error={error} retry={() => void refetch()} />
      ) : !data ? (
        <Loading lines={10} />
      ) : (
        <>
          <Card title={<Trans>کلیدهای نوشتن</Trans>} actions={add('write')}>
            <WriteKeys keys={data.write_keys} revoke={canWrite ? setRevoking : undefined} />
          </Card>
          <Card title={<Trans>کلیدهای مدیریت</Trans>} actions={add('management')}>
            <ManagementKeys
              keys={data.management_keys}
              revoke={canWrite ? setRevoking : undefined}
            />
          </Card>
        </>
      )}
      {making === 'write' ? <NewWriteKey onClose={close} /> : null}
      {making === 'management' ? <NewManagementKey onClose={close} /> : null}
      {revoking ? <RevokeKey revoked={revoking} onClose={() => setRevoking(undefined)} /> : null}
    </Page>
  );
}

interface ListProps<Key> {
  keys: readonly Key[];
  revoke: ((revoked: Revoked) => void) | undefined;
}

function WriteKeys({ keys, revoke }: ListProps<WriteKey>) {
  const { t } = useLingui();
  const common = useCommonColumns<WriteKey>(
    (key) =>
      revoke ? { kind: 'write', id: key.id, name: `${key.app}/${key.environment}` } : undefined,
    revoke,
  );
  if (keys.length === 0)
    return (
      <Empty title={<Trans>هنوز کلیدی نیست</Trans>}>
        <Trans>برای هر اپلیکیشن و هر محیط یک کلید بسازید تا رویدادهایشان از هم جدا باشد.</Trans>
      </Empty>
    );
  const columns: Column<WriteKey>[] = [
    {
      key: 'app',
      header: <Trans>اپلیکیشن</Trans>,
      isRowHeader: true,
      cell: ({ app }) => <bdi>{app}</bdi>,
    },
    {
      key: 'environment',
      header: <Trans>محیط</Trans>,
      cell: ({ environment }) => <bdi>{environment}</bdi>,
    },
    ...common,
  ];
  return <Table label={t`کلیدهای نوشتن`} rows={keys} rowKey={({ id }) => id} columns={columns} />;
}

function ManagementKeys({ keys, revoke }: ListProps<ManagementKey>) {
  const { t } = useLingui();
  const roleName = useRoleName();
  const { dateTime } = useFormat();
  const common = useCommonColumns<ManagementKey>(
    (key) => (revoke ? { kind: 'management', id: key.id, name: String(key.id) } : undefined),
    revoke,
  );
  if (keys.length === 0)
    return (
      <Empty title={<Trans>هنوز کلیدی نیست</Trans>}>
        <Trans>با کلید مدیریت، سرور شما مخاطب می‌شمارد، گزارش می‌گیرد و پیام می‌فرستد.</Trans>
      </Empty>
    );
  const columns: Column<ManagementKey>[] = [
    {
      key: 'id',
      header: <Trans>شناسه</Trans>,
      isRowHeader: true,
      cell: ({ id }) => <code>{id}</code>,
    },
    { key: 'role', header: <Trans>نقش</Trans>, cell: ({ role }) => roleName(role) },
    {
      key: 'expires',
      header: <Trans>اعتبار تا</Trans>,
      cell: ({ expires_at }) => dateTime(Date.parse(expires_at)),
    },
    ...common,
  ];
  return <Table label={t`کلیدهای مدیریت`} rows={keys} rowKey={({ id }) => id} columns={columns} />;
}

interface KeyTimes {
  created_at: string;
  revoked_at: string | null;
  expires_at?: string;
}

function useCommonColumns<Key extends KeyTimes>(
  revokedOf: (key: Key) => Revoked | undefined,
  revoke: ((revoked: Revoked) => void) | undefined,
): Column<Key>[] {
  const { dateTime } = useFormat();
  return [
    {
      key: 'created',
      header: <Trans>ساخته‌شده</Trans>,
      cell: ({ created_at }) => dateTime(Date.parse(created_at)),
    },
    { key: 'state', header: <Trans>وضعیت</Trans>, cell: (key) => <KeyState times={key} /> },
    ...(revoke
      ? [
          {
            key: 'revoke',
            header: <span className="visually-hidden">{<Trans>ابطال</Trans>}</span>,
            cell: (key: Key) => {
              const revoked = revokedOf(key);
              return key.revoked_at === null && revoked ? (
                <Button kind="quiet" onClick={() => revoke(revoked)}>
                  <Trans>ابطال</Trans>
                </Button>
              ) : null;
            },
          },
        ]
      : []),
  ];
}

function KeyState({ times: { revoked_at, expires_at } }: { times: KeyTimes }) {
  const { dateTime } = useFormat();
  const now = useNow();
  if (revoked_at !== null)
    return (
      <Tag tone="danger">
        <Trans>باطل از {dateTime(Date.parse(revoked_at))}</Trans>
      </Tag>
    );
  if (expires_at !== undefined && Date.parse(expires_at) < now)
    return (
      <Tag tone="warning">
        <Trans>منقضی</Trans>
      </Tag>
    );
  return (
    <Tag tone="success">
      <Trans>فعال</Trans>
    </Tag>
  );
}
