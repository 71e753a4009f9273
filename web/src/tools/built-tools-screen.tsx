import { useEffect, useState } from 'react'
import type { CapabilitySummaryReply } from '../../../src/protocol/custom-tools.ts'
import { useAnswer } from '../api/call.ts'
import { Badge, type BadgeKind } from '../components/controls.tsx'
import { Empty, Failure } from '../components/feedback.tsx'
import { TextField } from '../components/forms.tsx'
import { Screen, When } from '../components/layout.tsx'
import { Tabs } from '../components/tabs.tsx'
import { Link, usePlace, useQueryValue } from '../shell/router.tsx'
import { t } from '../strings/strings.ts'
import { BuildList, BuildScreen } from './builds.tsx'
import { CapabilityScreen } from './built-tool-screen.tsx'

type Stated = Pick<CapabilitySummaryReply, 'state' | 'version' | 'needs_approval' | 'calls' | 'failures'>

export function CapabilityStateLabel({ capability }: { capability: Stated }) {
  const { name, kind } = stateOf(capability)
  return <Badge kind={kind}>{name}</Badge>
}

function stateOf({ state, version, needs_approval, calls, failures }: Stated): { name: string; kind: BadgeKind } {
  if (needs_approval) return { name: t.builtTools.needsApproval, kind: 'warn' }
  switch (state) {
    case 'building':
      return { name: version === null ? t.builtTools.building : t.builtTools.readyRepairing, kind: 'busy' }
    case 'failed':
      return { name: t.builtTools.buildFailed, kind: 'bad' }
    case 'disabled':
      return { name: t.common.off, kind: 'plain' }
    case 'active':
      // One in five is more than a service that is down for a moment.
      return calls > 4 && failures * 5 > calls
        ? { name: t.builtTools.readyFailsOften, kind: 'warn' }
        : { name: t.builtTools.ready, kind: 'good' }
  }
}

export const originNames: Record<CapabilitySummaryReply['origin'], string> = {
  built: t.builtTools.builtByFamiliar,
  written: t.builtTools.writtenByHand,
  imported: t.builtTools.imported,
}

/** All built tools by name; with a query, the matching ones, best first. */
function CapabilityList() {
  const [query, setQuery] = useQueryValue('q')
  const asked = useSettled(query.trim())
  const { data, error, refresh } = useAnswer('capabilities.list', { query: asked }, { everyMs: 10_000 })
  const proposals = useAnswer('capabilities.proposals', {}).data?.proposals ?? []
  const reasons = new Map(proposals.map(({ name, reason }) => [name, reason]))
  if (error) return <Failure error={error} onRetry={refresh} />
  return (
    <>
      <TextField
        label={t.builtTools.searchBuiltTools}
        isLabelHidden
        type="search"
        placeholder={t.builtTools.searchTools}
        className="mb-4"
        value={query}
        onChange={(event) => setQuery(event.target.value)}
      />
      {data?.capabilities.length === 0 &&
        (asked === '' ? (
          <Empty title={t.builtTools.noBuiltToolsYet}>{t.builtTools.askSomethingNoTool}</Empty>
        ) : (
          <Empty title={t.common.noResults}>{t.builtTools.askConversationFamiliarBuild}</Empty>
        ))}
      <ul className="divide-y divide-line">
        {data?.capabilities.map((capability) => (
          <CapabilityLine key={capability.name} capability={capability} advice={reasons.get(capability.name)} />
        ))}
      </ul>
    </>
  )
}

function CapabilityLine({ capability, advice }: { capability: CapabilitySummaryReply; advice: string | undefined }) {
  const { name, description, problem, version, calls, last_called_at, origin } = capability
  return (
    <li>
      <Link
        href={`/capabilities/${encodeURIComponent(name)}`}
        className="-mx-2 block rounded-lg px-2 py-2.5 hover:bg-sunken"
      >
        <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
          <span className="font-medium">{name}</span>
          <CapabilityStateLabel capability={capability} />
          <span className="text-xs text-soft">{version === null ? originNames[origin] : `v${version}`}</span>
        </span>
        <span dir="auto" className="line-clamp-2 block text-sm text-soft">
          {description}
        </span>
        <span className="block text-xs text-soft">
          {calls === 0 ? t.builtTools.neverCalled : t.builtTools.calledTimes(calls)}
          {last_called_at && (
            <>
              {t.builtTools.last} <When at={last_called_at} />
            </>
          )}
        </span>
        {problem && <span className="block text-sm text-warn">{problem}</span>}
        {advice && <span className="block text-sm text-soft">{t.builtTools.considerTurningOff(advice)}</span>}
      </Link>
    </li>
  )
}

/** The text after a pause in typing. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), 250)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}

const home = '/capabilities'

/** `/capabilities` is the list, `/capabilities/<name>` one of them, and `?build=<id>` a build. */
export function CapabilitiesScreen() {
  const { path } = usePlace()
  const [tab, setTab] = useQueryValue('tab', 'capabilities')
  const [build] = useQueryValue('build')
  const name = path.startsWith(`${home}/`) ? decodeURIComponent(path.slice(home.length + 1)) : ''
  if (build !== '') return <BuildScreen key={build} id={build} />
  if (name !== '') return <CapabilityScreen key={name} name={name} />
  return (
    <Screen title={t.common.builtTools} intro={t.builtTools.toolsFamiliarBuilt}>
      <Tabs
        label={t.common.builtTools}
        value={tab}
        onChange={setTab}
        tabs={[
          { name: 'capabilities', label: t.common.builtTools, content: <CapabilityList /> },
          { name: 'builds', label: t.builtTools.builds, content: <BuildList /> },
        ]}
      />
    </Screen>
  )
}
