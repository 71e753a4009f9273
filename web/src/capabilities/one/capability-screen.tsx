import type { CapabilityReply } from '../../../../src/protocol/capability-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { CommandLine } from '../../components/command-line.tsx'
import { Failure, Notice } from '../../components/notice.tsx'
import { Screen } from '../../components/screen.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { useQueryValue } from '../../shell/use-query-value.ts'
import { CallList } from '../../tools/call-list.tsx'
import { BuildList } from '../builds/build-list.tsx'
import { CapabilityState, originNames } from '../capability-state.tsx'
import { AboutCapability } from './about-capability.tsx'
import { CapabilityActions } from './capability-actions.tsx'
import { CapabilityCode } from './capability-code.tsx'
import { CapabilityRun } from './capability-run.tsx'
import { CapabilityVersions } from './capability-versions.tsx'

/** One capability: what it does, what it may, what it is made of, and every version of it. */
export function CapabilityScreen({ name }: { name: string }) {
  const path = `/capabilities/${encodeURIComponent(name)}`
  const { data: capability, error, refresh, put } = useAnswer<CapabilityReply>(path, { everyMs: 10_000 })
  const [tab, setTab] = useQueryValue('tab', 'about')
  const back = { href: '/capabilities', label: 'Capabilities' }
  if (!capability) {
    return (
      <Screen title={name} back={back}>
        {error ? <Failure error={error} onRetry={refresh} /> : <p className="breathing text-soft">One moment …</p>}
      </Screen>
    )
  }
  const { version, problem, needs_approval } = capability
  const part = { capability, path, onChange: put }
  return (
    <Screen
      title={name}
      intro={capability.description}
      back={back}
      actions={<CapabilityActions {...part} onRefresh={refresh} />}
    >
      <div className="mb-4 space-y-3">
        <p className="flex flex-wrap items-center gap-2 text-sm text-soft">
          <CapabilityState capability={capability} />
          <span>{originNames[capability.origin]}</span>
          {version !== null && <span>version {version}</span>}
        </p>
        {problem && <Notice kind={capability.state === 'failed' ? 'error' : 'warning'}>{problem}</Notice>}
        {needs_approval && (
          <>
            <Notice kind="warning">
              It came from elsewhere. Look at what it may do and at its code; then let it run in a terminal on this
              machine:
            </Notice>
            <CommandLine command={`familiar caps enable ${name}`} />
          </>
        )}
      </div>
      <Tabs
        label={name}
        value={tab}
        onChange={setTab}
        tabs={[
          { name: 'about', label: 'About', content: <AboutCapability {...part} /> },
          { name: 'code', label: 'Code', content: <CapabilityCode capability={capability} path={path} /> },
          { name: 'versions', label: 'Versions', content: <CapabilityVersions {...part} /> },
          { name: 'run', label: 'Run by hand', content: <CapabilityRun capability={capability} path={path} /> },
          { name: 'calls', label: 'Calls', content: <CallList path={`${path}/calls`} /> },
          { name: 'builds', label: 'Builds', content: <BuildList name={name} /> },
        ]}
      />
    </Screen>
  )
}
