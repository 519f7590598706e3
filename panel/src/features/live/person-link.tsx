import { Link } from '@tanstack/react-router';
import { useMay } from '../../shared/session/session.ts';
import type { LiveEvent } from './live-events.ts';

/** Leads to the person's page, for members who may see people. */
export function PersonLink({ event }: { event: LiveEvent }) {
  const may = useMay();
  const id = event.user_id === '' ? event.anonymous_id : event.user_id;
  if (!may('profile.read')) return <bdi>{id}</bdi>;
  return (
    <Link to="/people/$id" params={{ id }}>
      <bdi>{id}</bdi>
    </Link>
  );
}
