import type { BuildReply } from '../../../../src/protocol/build-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Facts } from '../../components/facts.tsx'
import { Failure } from '../../components/notice.tsx'
import { Screen, Section } from '../../components/screen.tsx'
import { When } from '../../components/when.tsx'
import { Link } from '../../shell/link.tsx'
import { BuildProgress } from './build-progress.tsx'
import { BuildState } from './build-state.tsx'
import { useBuild } from './use-build.ts'

/** One build, live. */
export function BuildScreen({ id }: { id: string }) {
  const { data: build, error, refresh } = useAnswer<BuildReply>(`/builds/${encodeURIComponent(id)}`, { everyMs: 3_000 })
  const { story, error: failure } = useBuild(id)
  const back = { href: '/capabilities?tab=builds', label: 'Builds' }
  if (!build) {
    return (
      <Screen title="Build" back={back}>
        {error ? <Failure error={error} onRetry={refresh} /> : <p className="breathing text-soft">One moment …</p>}
      </Screen>
    )
  }
  const { name, kind, state, description, session_id, created_at, ended_at } = build
  return (
    <Screen title={`${kind === 'repair' ? 'Mending' : 'Building'} ${name}`} intro={description} back={back}>
      <Section title="How it stands">
        <Facts
          facts={[
            ['State', <BuildState key="state" state={state} />],
            ['Begun', <When key="begun" at={created_at} />],
            ['Ended', ended_at && <When key="ended" at={ended_at} />],
            [
              'Capability',
              <Link
                key="capability"
                href={`/capabilities/${encodeURIComponent(name)}`}
                className="text-accent hover:underline"
              >
                {name}
              </Link>,
            ],
            [
              'Asked for',
              session_id && (
                <Link key="session" href={`/talk/${session_id}`} className="text-accent hover:underline">
                  in a conversation
                </Link>
              ),
            ],
          ]}
        />
      </Section>
      <Section title="What it does">
        {failure ? <Failure error={failure} /> : <BuildProgress id={id} story={story} isTall />}
      </Section>
    </Screen>
  )
}
