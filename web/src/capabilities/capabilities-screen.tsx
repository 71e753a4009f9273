import { Screen } from '../components/screen.tsx'
import { Tabs } from '../components/tabs.tsx'
import { usePlace } from '../shell/router.ts'
import { useQueryValue } from '../shell/use-query-value.ts'
import { BuildList } from './builds/build-list.tsx'
import { BuildScreen } from './builds/build-screen.tsx'
import { CapabilityList } from './capability-list.tsx'
import { CapabilityScreen } from './one/capability-screen.tsx'

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
    <Screen
      title="Capabilities"
      intro="What Familiar has taught itself: small programs that it wrote, tried and keeps."
    >
      <Tabs
        label="Capabilities"
        value={tab}
        onChange={setTab}
        tabs={[
          { name: 'capabilities', label: 'Capabilities', content: <CapabilityList /> },
          { name: 'builds', label: 'Builds', content: <BuildList /> },
        ]}
      />
    </Screen>
  )
}
