import { useState } from 'react'
import type { CapabilityReply } from '../../../../src/protocol/capability-api.ts'
import { ask } from '../../api/ask.ts'
import { Badge } from '../../components/badge.tsx'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Empty } from '../../components/notice.tsx'
import { useToasts } from '../../components/toast.tsx'
import { When } from '../../components/when.tsx'
import { Link } from '../../shell/link.tsx'
import { useQueryValue } from '../../shell/use-query-value.ts'
import { VersionDifference } from './version-difference.tsx'

interface VersionsProps {
  capability: CapabilityReply
  path: string
  onChange(capability: CapabilityReply): void
}

/** Every version that ever served, newest first; each can be compared with the one before it, and serve again. */
export function CapabilityVersions({ capability, path, onChange }: VersionsProps) {
  const toasts = useToasts()
  const [compared, setCompared] = useQueryValue('diff')
  const [asked, setAsked] = useState<number>()
  const [isBusy, setIsBusy] = useState(false)
  const { versions, version: serving, needs_approval } = capability

  async function rollBack(version: number): Promise<void> {
    setIsBusy(true)
    try {
      onChange(await ask<CapabilityReply>(`${path}/rollback`, { body: { version } }))
      const undo = serving === null ? undefined : { label: 'Undo', run: () => void rollBack(serving) }
      toasts.done(`Version ${version} serves now.`, undo)
      setAsked(undefined)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  if (versions.length === 0) return <Empty title="No version yet">The first one comes with its build.</Empty>
  return (
    <>
      <ul className="divide-y divide-line">
        {versions.toReversed().map(({ version, runtime, created_at, build_id }) => (
          <li key={version} className="py-3">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
              <span className="font-medium">Version {version}</span>
              {version === serving && <Badge kind="good">Serves</Badge>}
              <span className="text-sm text-soft">
                {runtime === 'python' ? 'Python' : 'Node'}, <When at={created_at} />
              </span>
              {build_id && (
                <Link href={`/capabilities?build=${build_id}`} className="text-sm text-accent hover:underline">
                  its build
                </Link>
              )}
              <span className="ms-auto flex gap-2">
                {version > (versions[0]?.version ?? 0) && (
                  <Button
                    size="small"
                    aria-expanded={compared === String(version)}
                    onClick={() => setCompared(compared === String(version) ? '' : String(version))}
                  >
                    What changed
                  </Button>
                )}
                {version !== serving && !needs_approval && (
                  <Button size="small" onClick={() => setAsked(version)}>
                    Go back to it
                  </Button>
                )}
              </span>
            </div>
            {compared === String(version) && <VersionDifference path={path} versions={versions} to={version} />}
          </li>
        ))}
      </ul>
      <Dialog isOpen={asked !== undefined} onClose={() => setAsked(undefined)} title={`Let version ${asked} serve?`}>
        <p className="mb-4 text-soft">From now on every call goes to it. The others stay, and can serve again.</p>
        <div className="flex gap-2">
          <Button kind="main" isBusy={isBusy} onClick={() => asked !== undefined && void rollBack(asked)}>
            Yes, version {asked}
          </Button>
          <Button onClick={() => setAsked(undefined)}>No</Button>
        </div>
      </Dialog>
    </>
  )
}
