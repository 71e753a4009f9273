import type { HttpDependencies } from '../http-dependencies.ts'
import { jsonReply } from '../json-reply.ts'
import { defineRoute, type Route } from '../route.ts'

export function createDocumentRoutes(dependencies: HttpDependencies, routes: () => readonly Route[]): Route[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/api/v1/openapi.json',
      summary: 'This description.',
      auth: 'token',
      scope: 'read',
      reply: { status: 200 },
      async handle() {
        const { openApiDocument } = await import('../openapi-document.ts')
        const { name, version } = dependencies.status()
        return jsonReply(openApiDocument(routes(), { title: name, version }))
      },
    }),
  ]
}
