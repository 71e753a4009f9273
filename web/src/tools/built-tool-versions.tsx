import { useState } from 'react'
import type { CapabilityReply } from '../../../src/protocol/custom-tools.ts'
import { call, type Reply, useAnswer } from '../api/call.ts'
import { CodeBlock, DiffText } from '../components/code.tsx'
import { Badge, Button, classes } from '../components/controls.tsx'
import { Empty, Failure, useToasts } from '../components/feedback.tsx'
import { Dialog, SelectField } from '../components/forms.tsx'
import { When } from '../components/layout.tsx'
import { Markdown } from '../components/markdown.tsx'
import { Link, useQueryValue } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'

const kinds = { added: t.builtTools.added, removed: t.builtTools.removed, changed: t.builtTools.changed }

/** The changes of a version against the one before it. */
function VersionDifference(props: { name: string; versions: CapabilityReply['versions']; to: number }) {
  const { name, versions, to } = props
  const from = versions.findLast(({ version }) => version < to)?.version
  const { data, error, refresh } = useAnswer('capabilities.diff', { name, from, to })
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing py-3 text-sm text-soft">{t.common.loading}</p>
  if (data.files.length === 0) {
    return <p className="py-3 text-sm text-soft">{t.builtTools.versionsIdentical(data.from, data.to)}</p>
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

interface VersionsProps {
  capability: CapabilityReply
  onChange(capability: CapabilityReply): void
}

/** Every version that ever served, newest first; each can be compared with the one before it, and serve again. */
export function CapabilityVersions({ capability, onChange }: VersionsProps) {
  const toasts = useToasts()
  const [compared, setCompared] = useQueryValue('diff')
  const [asked, setAsked] = useState<number>()
  const [isBusy, setIsBusy] = useState(false)
  const { name, versions, version: serving, needs_approval } = capability

  async function rollBack(version: number): Promise<void> {
    setIsBusy(true)
    try {
      onChange(await call('capabilities.rollback', { name, version }))
      const undo = serving === null ? undefined : { label: t.common.undo, run: () => void rollBack(serving) }
      toasts.done(t.builtTools.versionNowUse(version), undo)
      setAsked(undefined)
    } catch (error) {
      toasts.failed(error)
    } finally {
      setIsBusy(false)
    }
  }

  if (versions.length === 0)
    return <Empty title={t.builtTools.noVersionsYet}>{t.builtTools.buildCreatesFirstVersion}</Empty>
  return (
    <>
      <ul className="divide-y divide-line">
        {versions.toReversed().map(({ version, runtime, created_at, build_id }) => (
          <li key={version} className="py-3">
            <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
              <span className="font-medium">{t.builtTools.versionVersion(version)}</span>
              {version === serving && <Badge kind="good">{t.builtTools.inUse}</Badge>}
              <span className="text-sm text-soft">
                {runtime === 'python' ? t.builtTools.python : t.builtTools.node}, <When at={created_at} />
              </span>
              {build_id && (
                <Link href={`/capabilities?build=${build_id}`} className="text-sm text-accent hover:underline">
                  {t.builtTools.buildLog}
                </Link>
              )}
              <span className="ms-auto flex gap-2">
                {version > (versions[0]?.version ?? 0) && (
                  <Button
                    size="small"
                    aria-expanded={compared === String(version)}
                    onClick={() => setCompared(compared === String(version) ? '' : String(version))}
                  >
                    {t.builtTools.compare}
                  </Button>
                )}
                {version !== serving && !needs_approval && (
                  <Button size="small" onClick={() => setAsked(version)}>
                    {t.builtTools.useThisVersion}
                  </Button>
                )}
              </span>
            </div>
            {compared === String(version) && <VersionDifference name={name} versions={versions} to={version} />}
          </li>
        ))}
      </ul>
      <Dialog
        isOpen={asked !== undefined}
        onClose={() => setAsked(undefined)}
        title={t.builtTools.switchVersionQuestion(asked ?? 0)}
      >
        <p className="mb-4 text-soft">{t.builtTools.allCallsUseVersion}</p>
        <div className="flex gap-2">
          <Button kind="main" isBusy={isBusy} onClick={() => asked !== undefined && void rollBack(asked)}>
            {t.builtTools.useThisVersion}
          </Button>
          <Button onClick={() => setAsked(undefined)}>{t.common.cancel}</Button>
        </div>
      </Dialog>
    </>
  )
}

interface TreeLine {
  path: string
  name: string
  depth: number
  isFolder: boolean
}

/** Paths as the lines of a tree: each folder once, before its content. */
export function fileTree(paths: readonly string[]): TreeLine[] {
  const lines = new Map<string, TreeLine>()
  for (const path of paths.toSorted(inTree)) {
    const steps = path.split('/')
    for (const [depth, name] of steps.entries()) {
      const place = steps.slice(0, depth + 1).join('/')
      if (!lines.has(place)) lines.set(place, { path: place, name, depth, isFolder: depth < steps.length - 1 })
    }
  }
  return [...lines.values()]
}

/** Files before the folders beside them. */
function inTree(one: string, other: string): number {
  const left = one.split('/')
  const right = other.split('/')
  const apart = left.findIndex((step, index) => step !== right[index])
  if (apart < 0) return left.length - right.length
  const isLeftFile = apart === left.length - 1
  if (isLeftFile !== (apart === right.length - 1)) return isLeftFile ? -1 : 1
  return (left[apart] ?? '').localeCompare(right[apart] ?? '')
}

/** The files of a version, as they were registered. */
export function CapabilityCode({ capability }: { capability: CapabilityReply }) {
  const { name: tool, version, versions } = capability
  const [chosen, setChosen] = useQueryValue('version')
  const [file, setFile] = useQueryValue('file')
  const { data, error, refresh } = useAnswer(
    'capabilities.files',
    version === null ? null : { name: tool, version: chosen },
  )
  if (version === null) return <Empty title={t.builtTools.noCodeYet}>{t.builtTools.buildCreatedVersionYet}</Empty>
  if (error) return <Failure error={error} onRetry={refresh} />
  if (!data) return <p className="breathing text-soft">{t.common.loading}</p>
  const shown = data.files.find((one) => one.path === file) ?? firstOf(data.files)
  return (
    <div className="gap-6 md:grid md:grid-cols-[13rem_minmax(0,1fr)]">
      <div className="mb-4">
        {versions.length > 1 && (
          <SelectField
            label={t.common.version}
            className="mb-3"
            value={chosen || String(version)}
            onChange={(value) => setChosen(value === String(version) ? '' : value)}
            choices={versions.toReversed().map((one) => ({
              value: String(one.version),
              label: one.version === version ? t.builtTools.vInUse(one.version) : `v${one.version}`,
            }))}
          />
        )}
        <ul aria-label={t.common.files}>
          {fileTree(data.files.map((one) => one.path)).map(({ path: place, name, depth, isFolder }) => (
            // The tree is as deep as its folders.
            <li key={place} style={{ paddingInlineStart: `${depth}rem` }}>
              {isFolder ? (
                <span className="block px-2 py-1 text-sm text-soft">{name}/</span>
              ) : (
                <button
                  type="button"
                  aria-current={place === shown?.path ? 'true' : undefined}
                  onClick={() => setFile(place)}
                  className={classes(
                    'block min-h-8 w-full rounded-lg px-2 py-1 text-start font-mono text-[0.8125rem] hover:bg-sunken',
                    place === shown?.path ? 'bg-sunken' : 'text-soft',
                  )}
                >
                  {name}
                </button>
              )}
            </li>
          ))}
        </ul>
      </div>
      <div className="min-w-0">{shown && <FileView file={shown} />}</div>
    </div>
  )
}

function FileView({ file }: { file: Reply<'capabilities.files'>['files'][number] }) {
  if (file.text === null) return <p className="text-soft">{t.builtTools.bytesBinaryData(file.bytes)}</p>
  if (file.path.endsWith('.md')) return <Markdown text={file.text} />
  return <CodeBlock code={file.text} language={file.path} />
}

/** The main program, when it is known. */
function firstOf(files: Reply<'capabilities.files'>['files']) {
  return files.find(({ path }) => /^main\.(?:py|js)$/.test(path)) ?? files[0]
}
