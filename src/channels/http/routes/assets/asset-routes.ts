import type { OpenAssets } from '../../../../assets/open-assets.ts'
import type { Route } from '../../route.ts'
import { createBlockRoutes } from './block-routes.ts'
import { createLocalFileRoutes } from './local-file-routes.ts'
import { createPinRoutes } from './pin-routes.ts'

export function createAssetRoutes({ assets, pins }: Pick<OpenAssets, 'assets' | 'pins'>): Route[] {
  return [...createBlockRoutes(assets), ...createPinRoutes(pins), ...createLocalFileRoutes(assets)]
}
