import { describe, expect, it } from 'vitest'
import { features } from '../../../src/protocol/features.ts'
import { requestOf } from './call.ts'
import { paths } from './operations.ts'

describe('requestOf', () => {
  it('puts path parameters into the path and the rest into query or body', () => {
    expect(requestOf('blocks.version', { label: 'a/b c', version: '3' })).toEqual({
      method: 'GET',
      path: '/blocks/a%2Fb%20c/versions/3',
      search: '',
      body: undefined,
    })
    expect(requestOf('pins.remove', { label: 'a&b' })).toMatchObject({ method: 'DELETE', search: '?label=a%26b' })
    expect(requestOf('memories.edit', { id: 'm1', title: null })).toMatchObject({
      method: 'PATCH',
      path: '/memories/m1',
      search: '',
      body: { title: null },
    })
    expect(requestOf('sessions.stop', { id: 's1' })).toMatchObject({ path: '/sessions/s1/stop', body: {} })
  })

  it('leaves empty query values out', () => {
    const { search } = requestOf('memories.list', { kind: undefined, tag: '', limit: 50, passages: false })
    expect(search).toBe('?limit=50&passages=false')
  })

  it('sends a map as the body, whatever its keys are called', () => {
    expect(requestOf('tools.setConfig', { name: 'weather', body: { name: 'x' } })).toMatchObject({
      path: '/tools/weather/config',
      body: { name: 'x' },
    })
  })

  it('keeps the query of a request with a raw body', () => {
    expect(requestOf('memories.importLines', { label: 'owner' }, true)).toMatchObject({
      search: '?label=owner',
      body: undefined,
    })
  })
})

describe('operations', () => {
  it('no parameter of a path is also a field of the query or body', () => {
    const clashes = features.flatMap((feature) =>
      Object.entries(feature).flatMap(([group, members]) =>
        Object.entries<unknown>({ ...members }).flatMap(([name, member]) => {
          if (!(`${group}.${name}` in paths)) return []
          const { path, query, body } = member as { path: string; query?: Shaped; body?: Shaped }
          const fields = [...Object.keys(query?.shape ?? {}), ...Object.keys(body?.shape ?? {})]
          return fields.filter((field) => field === 'body' || path.split('/').includes(`:${field}`))
        }),
      ),
    )
    expect(clashes).toEqual([])
  })
})

interface Shaped {
  shape?: object
}
