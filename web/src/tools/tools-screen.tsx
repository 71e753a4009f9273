import { Screen } from '../components/screen.tsx'
import { Tabs } from '../components/tabs.tsx'
import { usePlace } from '../shell/router.ts'
import { useQueryValue } from '../shell/use-query-value.ts'
import { useWho } from '../shell/who.ts'
import { McpServers } from './mcp-servers.tsx'
import { ToolScreen } from './one/tool-screen.tsx'
import { ToolList } from './tool-list.tsx'
import { toolsPath } from './tools-path.ts'

/** `/toolbox` is the list, `/toolbox/<name>` one of them. */
export function ToolsScreen() {
  const { path } = usePlace()
  const { is_owner } = useWho()
  const [tab, setTab] = useQueryValue('tab', 'tools')
  const name = path.startsWith(`${toolsPath}/`) ? decodeURIComponent(path.slice(toolsPath.length + 1)) : ''
  if (name !== '') return <ToolScreen key={name} name={name} />
  return (
    <Screen title="Tools" intro="Everything that Familiar can do, whether it may, and how it went.">
      {is_owner ? (
        <Tabs
          label="Tools"
          value={tab}
          onChange={setTab}
          tabs={[
            { name: 'tools', label: 'All tools', content: <ToolList /> },
            { name: 'servers', label: 'MCP servers', content: <McpServers /> },
          ]}
        />
      ) : (
        <ToolList />
      )}
    </Screen>
  )
}
