import type { CapabilityDiffReply, CapabilityReply } from '../../../../src/protocol/capability-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { DiffText } from '../../components/diff-text.tsx'
import { Failure } from '../../components/notice.tsx'

const kinds = { added: 'new', removed: 'gone', changed: 'changed' } as const

/** What a version changed against the one before it. */
export function VersionDifference(props: { path: string; versions: CapabilityReply['versions']; to: number }) {
  const { path, versions, to } = props
  const from = versions.findLast(({ version }) => version < to)?.version
  const { data, error, refresh } = useAnswer<CapabilityDiffReply>(`${path}/diff`, { query: { from, to } })
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing py-3 text-sm text-soft">One moment …</p>
  if (data.files.length === 0) {
    return (
      <p className="py-3 text-sm text-soft">
        Versions {data.from} and {data.to} are the same.
      </p>
    )
  }
  return (
    <div className="mt-3 space-y-3">
      {data.files.map((file) => (
        <section key={file.path} className="overflow-hidden rounded-xl border border-line bg-raised">
          <h3 className="border-b border-line px-3 py-1 font-mono text-xs text-soft">
            {file.path}, {kinds[file.kind]}
          </h3>
          <DiffText text={file.text} />
        </section>
      ))}
    </div>
  )
}
