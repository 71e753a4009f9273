import type { Catalog } from './locale.ts'

export const es: Catalog = {}
