import type { Models } from '../../models/models.ts'
import { FamiliarError } from '../../protocol/error.ts'
import type { ToolView } from '../../tools/registry.ts'
import { deniedTools } from '../../tools/subagents/denied-tools.ts'
import type { SpawnRequest } from '../../tools/subagents/subagents.ts'

/** The request with its tools by their own names; an error that says what is not to be had. */
export function checkSpawnRequest(wanted: { request: SpawnRequest; models: Models; tools: ToolView }): SpawnRequest {
  const { request, models, tools } = wanted
  if (request.model !== null && !models.byId(request.model)) {
    const known = models.list().map(({ info }) => info.id)
    throw new FamiliarError('bad_request', `There is no model ${request.model}; there are: ${known.join(', ')}`)
  }
  if (!request.tools) return request
  const names = request.tools.map((wantedName) => {
    const name = tools.find(wantedName)?.definition.name
    if (name === undefined) throw new FamiliarError('bad_request', `There is no tool named ${wantedName} to give away`)
    if (deniedTools.has(name)) throw new FamiliarError('bad_request', `A sub-agent cannot have ${name}`)
    return name
  })
  return { ...request, tools: [...new Set(names)] }
}
