// Tries every destination of the table by every way out, in a network of its own, and prints how each ended.
import { egressTable } from './egress-table.ts'
import { waysOut } from './egress-ways.ts'
import { openEgressWorld, tryWay } from './egress-world.ts'

const world = await openEgressWorld()
const found: { way: string; policy: string; isTunnel: boolean; outcomes: Record<string, string> }[] = []
for (const openWay of waysOut) {
  const way = await openWay()
  const outcomes: Record<string, string> = {}
  for (const { url } of egressTable) outcomes[url] = await tryWay(world, way, url)
  found.push({ way: way.name, policy: way.policy, isTunnel: way.isTunnel ?? false, outcomes })
  await way.close()
}
await world.close()
console.log(JSON.stringify(found))
