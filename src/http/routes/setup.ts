import * as api from '../../protocol/setup.ts'
import type { HttpSetup } from '../dependencies.ts'
import { handle, type Route } from '../route.ts'

/** Connecting models and changing settings. None of these routes names a program or a path (SEC-4a). */
export function createSetupRoutes(setup: HttpSetup): Route[] {
  return [
    handle(api.setup.offers, async () => ({ providers: await setup.offers() })),
    handle(api.setup.tryProvider, ({ body }) => setup.tryProvider(body)),
    handle(api.setup.connect, ({ body }) => setup.connect(body)),
    handle(api.setup.change, ({ params, body }) => setup.change(params.key, body.value)),
    handle(api.setup.telegram, ({ body }) => setup.setTelegram(body)),
  ]
}
