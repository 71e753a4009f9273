import type { ToolReply } from '../../../../src/protocol/tool-api.ts'
import { useAnswer } from '../../api/use-answer.ts'
import { Failure, Notice } from '../../components/notice.tsx'
import { Screen } from '../../components/screen.tsx'
import { type Tab, Tabs } from '../../components/tabs.tsx'
import { useQueryValue } from '../../shell/use-query-value.ts'
import { CallList } from '../call-list.tsx'
import { ToolStatus } from '../tool-status.tsx'
import { toolsPath } from '../tools-path.ts'
import { AboutTool } from './about-tool.tsx'
import { ToolRun } from './tool-run.tsx'
import { ToolRuns } from './tool-runs.tsx'
import { ToolSettings } from './tool-settings.tsx'
import { ToolSwitch } from './tool-switch.tsx'
import { ToolTests } from './tool-tests.tsx'

/** One tool: what it is, what it needs, what it did, and the switch that stops it. */
export function ToolScreen({ name }: { name: string }) {
  const path = `/tools/${encodeURIComponent(name)}`
  const { data: tool, error, refresh, put } = useAnswer<ToolReply>(path)
  const [tab, setTab] = useQueryValue('tab', 'about')
  const back = { href: toolsPath, label: 'Tools' }
  if (!tool) {
    return (
      <Screen title={name} back={back}>
        {error ? <Failure error={error} onRetry={refresh} /> : <p className="breathing text-soft">One moment …</p>}
      </Screen>
    )
  }
  const tabs = tabsOf(tool, path, refresh)
  return (
    <Screen title={tool.name} intro={tool.description} back={back} actions={<ToolSwitch tool={tool} onChange={put} />}>
      <div className="mb-4 space-y-3">
        <ToolStatus tool={tool} />
        {tool.problem && <Notice kind={tool.status === 'error' ? 'error' : 'warning'}>{tool.problem}</Notice>}
      </div>
      <Tabs
        label={tool.name}
        value={tabs.some((one) => one.name === tab) ? tab : 'about'}
        onChange={setTab}
        tabs={tabs}
      />
    </Screen>
  )
}

function tabsOf(tool: ToolReply, path: string, onChange: () => void): Tab[] {
  const isFolder = tool.kind === 'contract'
  const shown: (Tab | false)[] = [
    { name: 'about', label: 'About', content: <AboutTool tool={tool} /> },
    tool.configuration.length > 0 && {
      name: 'settings',
      label: 'Settings',
      content: <ToolSettings tool={tool} path={path} onChange={onChange} />,
    },
    isFolder && { name: 'run', label: 'Run by hand', content: <ToolRun tool={tool} path={path} /> },
    isFolder && { name: 'tests', label: 'Tests', content: <ToolTests path={path} /> },
    { name: 'calls', label: 'Calls', content: <CallList path={`${path}/calls`} /> },
    isFolder &&
      tool.trigger !== 'on_demand' && {
        name: 'runs',
        label: 'Runs',
        content: <ToolRuns tool={tool} path={path} />,
      },
  ]
  return shown.filter((one) => one !== false)
}
