import type { BuildReply, BuildsReply } from '../../../../src/protocol/build-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Empty, Failure } from '../../components/notice.tsx'
import { When } from '../../components/when.tsx'
import { Link } from '../../shell/link.tsx'
import { BuildState } from './build-state.tsx'

/** Builds, newest first; of one capability or of all. */
export function BuildList({ name }: { name?: string }) {
  const { data, error, refresh } = useAnswer<BuildsReply>('/builds', { query: { name, limit: 100 }, everyMs: 5_000 })
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">One moment …</p>
  if (data.builds.length === 0) {
    return <Empty title="Nothing was built">A build begins when you ask for something that no tool can do.</Empty>
  }
  return (
    <ul className="divide-y divide-line">
      {data.builds.map((build) => (
        <BuildLine key={build.id} build={build} />
      ))}
    </ul>
  )
}

function BuildLine({ build }: { build: BuildReply }) {
  return (
    <li>
      <Link href={`/capabilities?build=${build.id}`} className="-mx-2 block rounded-lg px-2 py-2.5 hover:bg-sunken">
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium">{build.name}</span>
          <BuildState state={build.state} />
          <span className="text-xs text-soft">
            {build.kind === 'repair' ? 'mended' : 'built'} <When at={build.created_at} />
          </span>
        </span>
        <span className="line-clamp-2 block text-sm text-soft">{build.description}</span>
        {build.error && <span className="block text-sm text-bad">{build.error}</span>}
      </Link>
    </li>
  )
}
