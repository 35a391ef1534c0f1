// The robot in WebGL 2: surfaces on bodies, a ground with shadow, a camera that orbits.

function bytes(text) {
  const raw = atob(text), out = new Uint8Array(raw.length);
  for (let i = 0; i < raw.length; i++) out[i] = raw.charCodeAt(i);
  return out.buffer;
}

// 4 x 4 matrices, column after column
const mat = {
  mul(a, b) {
    const o = new Float32Array(16);
    for (let c = 0; c < 4; c++) for (let r = 0; r < 4; r++) {
      let s = 0;
      for (let k = 0; k < 4; k++) s += a[4 * k + r] * b[4 * c + k];
      o[4 * c + r] = s;
    }
    return o;
  },
  perspective(fov, aspect, near, far) {
    const f = 1 / Math.tan(fov / 2), d = 1 / (near - far);
    return new Float32Array([f / aspect, 0, 0, 0, 0, f, 0, 0, 0, 0, (far + near) * d, -1, 0, 0, 2 * far * near * d, 0]);
  },
  look(eye, at) {
    const z = unit(sub(eye, at)), x = unit(cross([0, 0, 1], z)), y = cross(z, x);
    return new Float32Array([x[0], y[0], z[0], 0, x[1], y[1], z[1], 0, x[2], y[2], z[2], 0, -dot(x, eye), -dot(y, eye), -dot(z, eye), 1]);
  },
  pose(p, q) {
    const [x, y, z, w] = q;
    return new Float32Array([
      1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y), 0,
      2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x), 0,
      2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y), 0, p[0], p[1], p[2], 1]);
  },
};
const sub = (a, b) => [a[0] - b[0], a[1] - b[1], a[2] - b[2]];
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
const unit = (a) => { const n = Math.hypot(...a) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };

const SURFACE_VS = `#version 300 es
layout(location=0) in vec3 p; layout(location=1) in vec3 n;
uniform mat4 M, VP; out vec3 N, P;
void main() { vec4 w = M * vec4(p, 1.); P = w.xyz; N = mat3(M) * n; gl_Position = VP * w; }`;
const SURFACE_FS = `#version 300 es
precision highp float; in vec3 N, P; out vec4 o;
uniform vec3 color, eye, light; uniform float alpha, dark;
void main() {
  vec3 n = normalize(N), v = normalize(eye - P);
  if (dot(n, v) < 0.) n = -n;
  vec3 base = pow(color, vec3(2.2));
  float key = max(dot(n, light), 0.), fill = max(dot(n, normalize(v + vec3(0, 0, .3))), 0.);
  vec3 sky = mix(vec3(.34, .33, .33), vec3(.58, .61, .66), n.z * .5 + .5) * mix(1., .62, dark);
  float spec = pow(max(dot(n, normalize(light + v)), 0.), 48.);
  float rim = pow(1. - max(dot(n, v), 0.), 3.);
  vec3 c = base * (sky + .78 * key + .2 * fill) + vec3(.16) * spec + vec3(.07, .08, .1) * rim;
  c = c / (1. + .18 * c);
  o = vec4(pow(c, vec3(1. / 2.2)) * alpha, alpha);
}`;
const FLAT_FS = `#version 300 es
precision highp float; in vec3 N, P; out vec4 o;
uniform vec4 tint; uniform vec3 middle; uniform float reach;
void main() { float f = exp(-pow(length(P.xy - middle.xy) / reach, 2.)); o = vec4(tint.rgb * tint.a, tint.a) * f; }`;
const GRID_FS = `#version 300 es
precision highp float; in vec3 N, P; out vec4 o;
uniform vec3 ink, middle; uniform float cell, reach;
float lines(vec2 x, float width) {
  vec2 w = fwidth(x), g = abs(fract(x - .5) - .5) / max(w, vec2(1e-6));
  return (1. - min(min(g.x, g.y) / width, 1.)) * clamp(1.6 - 2.4 * max(w.x, w.y), 0., 1.);
}
void main() {
  float fade = exp(-pow(length(P.xy - middle.xy) / reach, 2.));
  float a = max(.2 * lines(P.xy / cell, 1.), .34 * lines(P.xy / (5. * cell), 1.1)) * fade;
  o = vec4(ink * a, a);
}`;

class Scene {
  constructor(canvas, data) {
    this.canvas = canvas; this.data = data;
    const gl = this.gl = canvas.getContext("webgl2", { antialias: true, alpha: true, stencil: true, preserveDrawingBuffer: true });
    if (!gl) throw new Error("no WebGL 2");
    this.surface = this.program(SURFACE_VS, SURFACE_FS);
    this.flat = this.program(SURFACE_VS, FLAT_FS);
    this.grid = this.program(SURFACE_VS, GRID_FS);
    this.parts = data.parts.map((part) => this.upload(part));
    this.quad = this.mesh(new Float32Array([-1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0]), new Uint16Array([0, 1, 2, 0, 2, 3]));
    // all is drawn with z up: the root turns the world so
    const t = data.turn;
    this.root = new Float32Array([t[0], t[1], t[2], 0, t[3], t[4], t[5], 0, t[6], t[7], t[8], 0, 0, 0, 0, 1]);
    const up = (v) => [t[0] * v[0] + t[3] * v[1] + t[6] * v[2], t[1] * v[0] + t[4] * v[1] + t[7] * v[2], t[2] * v[0] + t[5] * v[1] + t[8] * v[2]];
    this.middle = up(data.center);
    const gaze = sub(up(data.eye), this.middle), size = Math.hypot(...gaze);
    this.first = { turn: Math.atan2(gaze[1], gaze[0]), rise: Math.asin(gaze[2] / size), far: size, at: this.middle.slice() };
    this.camera = { ...this.first, at: this.first.at.slice() };
    this.times = new Float32Array(bytes(data.times));
    this.poses = new Uint16Array(bytes(data.poses));
    if (data.contacts) {
      this.shapes = data.contacts.parts.map((part) => this.upload(part));
      this.arrows = new Uint16Array(bytes(data.contacts.arrows));
    }
    this.dark = 0; this.dirty = true; this.time = this.times[0]; this.gone = [0, 0, 0];
    this.start = this.bodies()[data.follows + 1].slice(12, 15);
    this.listen();
    new ResizeObserver(() => { this.dirty = true; }).observe(canvas);
  }

  program(vs, fs) {
    const gl = this.gl, made = gl.createProgram();
    for (const [kind, text] of [[gl.VERTEX_SHADER, vs], [gl.FRAGMENT_SHADER, fs]]) {
      const shader = gl.createShader(kind);
      gl.shaderSource(shader, text); gl.compileShader(shader); gl.attachShader(made, shader);
    }
    gl.linkProgram(made);
    if (!gl.getProgramParameter(made, gl.LINK_STATUS)) throw new Error(gl.getProgramInfoLog(made));
    const at = {}, count = gl.getProgramParameter(made, gl.ACTIVE_UNIFORMS);
    for (let i = 0; i < count; i++) { const name = gl.getActiveUniform(made, i).name; at[name] = gl.getUniformLocation(made, name); }
    return { made, at };
  }

  upload(part) {
    const raw = new Uint16Array(bytes(part.vertices)), p = new Float32Array(raw.length);
    for (let i = 0; i < raw.length; i++) p[i] = part.low[i % 3] + raw[i] * part.step[i % 3];
    const faces = part.wide ? new Uint32Array(bytes(part.faces)) : new Uint16Array(bytes(part.faces));
    return { ...this.mesh(p, faces), body: part.body, color: part.color.map((c) => c / 255), alpha: part.opacity };
  }

  mesh(p, faces) {
    // normals: the mean of the faces about a vertex, by area
    const gl = this.gl, n = new Float32Array(p.length), at = (i) => [p[3 * i], p[3 * i + 1], p[3 * i + 2]];
    for (let f = 0; f < faces.length; f += 3) {
      const a = at(faces[f]), m = cross(sub(at(faces[f + 1]), a), sub(at(faces[f + 2]), a));
      for (let k = 0; k < 3; k++) for (let d = 0; d < 3; d++) n[3 * faces[f + k] + d] += m[d];
    }
    for (let i = 0; i < n.length; i += 3) {
      const s = Math.hypot(n[i], n[i + 1], n[i + 2]) || 1;
      n[i] /= s; n[i + 1] /= s; n[i + 2] /= s;
    }
    const array = gl.createVertexArray();
    gl.bindVertexArray(array);
    [p, n].forEach((values, slot) => {
      gl.bindBuffer(gl.ARRAY_BUFFER, gl.createBuffer());
      gl.bufferData(gl.ARRAY_BUFFER, values, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(slot);
      gl.vertexAttribPointer(slot, 3, gl.FLOAT, false, 0, 0);
    });
    gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, gl.createBuffer());
    gl.bufferData(gl.ELEMENT_ARRAY_BUFFER, faces, gl.STATIC_DRAW);
    return { array, count: faces.length, kind: faces instanceof Uint32Array ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT };
  }

  // the rows before and after the present time, and how far between them it is
  place() {
    const T = this.times;
    let k = 0, high = T.length - 1;
    while (high - k > 1) { const m = (k + high) >> 1; if (T[m] <= this.time) k = m; else high = m; }
    const after = Math.min(k + 1, T.length - 1), span = T[after] - T[k];
    const s = span > 0 ? Math.min(1, Math.max(0, (this.time - T[k]) / span)) : 0;
    return [k, after, s];
  }

  // pose of each body at the present time
  bodies() {
    const { nb, low, step } = this.data, [k, after, s] = this.place();
    const out = [this.root];
    for (let b = 0; b < nb; b++) {
      const i = 7 * (k * nb + b), j = 7 * (after * nb + b), p = [], q = [];
      let same = 0;
      for (let d = 0; d < 3; d++) p.push(low[d] + step[d] * (this.poses[i + d] * (1 - s) + this.poses[j + d] * s));
      const turn = (at, d) => this.poses[at + 3 + d] / 32767.5 - 1;
      for (let d = 0; d < 4; d++) same += turn(i, d) * turn(j, d);
      for (let d = 0; d < 4; d++) q.push(turn(i, d) * (1 - s) + turn(j, d) * s * (same < 0 ? -1 : 1));
      const size = Math.hypot(...q) || 1;
      out.push(mat.mul(this.root, mat.pose(p, q.map((x) => x / size))));
    }
    return out;
  }

  // how far a roaming robot has come since the first row
  travel(bodies) {
    const k = this.data.follows + 1;
    if (!k) return [0, 0, 0];
    return sub(bodies[k].slice(12, 15), this.start);
  }

  center() { return [0, 1, 2].map((d) => this.middle[d] + this.gone[d]); }
  at() { return [0, 1, 2].map((d) => this.camera.at[d] + this.gone[d]); }

  eye() {
    const c = { ...this.camera, at: this.at() }, flat = Math.cos(c.rise) * c.far;
    return [c.at[0] + flat * Math.cos(c.turn), c.at[1] + flat * Math.sin(c.turn), c.at[2] + c.far * Math.sin(c.rise)];
  }

  draw(time) {
    if (time !== this.time) { this.time = time; this.dirty = true; }
    if (!this.dirty) return;
    this.dirty = false;
    const gl = this.gl, canvas = this.canvas, ratio = Math.min(window.devicePixelRatio || 1, 2);
    const w = Math.max(1, Math.round(canvas.clientWidth * ratio)), h = Math.max(1, Math.round(canvas.clientHeight * ratio));
    if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
    gl.viewport(0, 0, w, h);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT | gl.STENCIL_BUFFER_BIT);
    gl.enable(gl.DEPTH_TEST); gl.enable(gl.BLEND); gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    const bodies = this.bodies();
    this.gone = this.travel(bodies);
    const eye = this.eye(), far = this.camera.far, R = this.data.radius;
    // a narrow window sees as much across as a square one
    const fov = 2 * Math.atan(Math.tan(0.36) * Math.max(1, h / w));
    const VP = mat.mul(mat.perspective(fov, w / h, far * 0.02, far + 60 * R), mat.look(eye, this.at()));
    const light = unit([0.42, -0.5, 0.9]);
    const parts = this.parts.filter((p) => p.alpha >= 1), glass = this.parts.filter((p) => p.alpha < 1);
    const use = (program, values) => {
      gl.useProgram(program.made);
      for (const [name, value] of Object.entries(values)) {
        const at = program.at[name];
        if (at === undefined) continue;
        if (typeof value === "number") gl.uniform1f(at, value);
        else if (value.length === 3) gl.uniform3fv(at, value);
        else if (value.length === 4) gl.uniform4fv(at, value);
        else gl.uniformMatrix4fv(at, false, value);
      }
    };
    const show = (program, mesh, M) => {
      gl.uniformMatrix4fv(program.at.M, false, M);
      gl.bindVertexArray(mesh.array); gl.drawElements(gl.TRIANGLES, mesh.count, mesh.kind, 0);
    };
    const solid = (list) => {
      use(this.surface, { VP, eye, light, dark: this.dark });
      for (const part of list) {
        gl.uniform3fv(this.surface.at.color, part.color); gl.uniform1f(this.surface.at.alpha, part.alpha);
        show(this.surface, part, bodies[part.body + 1]);
      }
    };
    solid(parts);
    this.floor(use, show, VP, light, bodies, R);
    if (glass.length) { gl.depthMask(false); solid(glass); gl.depthMask(true); }
    if (this.data.contacts) this.touches(use, show, VP, eye, light);
  }

  // balls and arrows of the contacts that push, over the robot, which would hide them
  touches(use, show, VP, eye, light) {
    const gl = this.gl, { count, low, step, thin } = this.data.contacts, [k, after, s] = this.place();
    gl.clear(gl.DEPTH_BUFFER_BIT);
    use(this.surface, { VP, eye, light, dark: this.dark, color: this.shapes[0].color, alpha: 1 });
    const end = (c, e) => [0, 1, 2].map((d) => {
      const at = (row) => this.arrows[6 * (row * count + c) + 3 * e + d];
      return low[d] + step[d] * (at(k) * (1 - s) + at(after) * s);
    });
    const put = (shape, x, y, z, p) => show(this.surface, shape, mat.mul(this.root, new Float32Array([...x, 0, ...y, 0, ...z, 0, ...p, 1])));
    const times = (a, v) => v.map((x) => a * x);
    for (let c = 0; c < count; c++) {
      const p = end(c, 0), along = sub(end(c, 1), p), length = Math.hypot(...along);
      if (length < thin) continue;
      const z = unit(along), x = unit(cross(Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0], z)), y = cross(z, x);
      const head = Math.min(7 * thin, 0.6 * length), neck = p.map((v, d) => v + z[d] * (length - head));
      put(this.shapes[0], times(2.4 * thin, x), times(2.4 * thin, y), times(2.4 * thin, z), p);
      put(this.shapes[1], times(thin, x), times(thin, y), times(length - head, z), p);
      put(this.shapes[2], times(2.8 * thin, x), times(2.8 * thin, y), times(head, z), neck);
    }
  }

  floor(use, show, VP, light, bodies, R) {
    const gl = this.gl, z = this.data.ground, reach = 2.6 * R, middle = this.center();
    gl.depthMask(false);
    // shadow: everything flattened along the light, each pixel once
    const a = light[0] / light[2], b = light[1] / light[2], lift = z + 4e-4 * R;
    const flatten = new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, -a, -b, 0, 0, a * z, b * z, lift, 1]);
    gl.enable(gl.STENCIL_TEST); gl.stencilFunc(gl.EQUAL, 0, 255); gl.stencilOp(gl.KEEP, gl.KEEP, gl.INCR);
    use(this.flat, { VP, tint: this.dark ? [0, 0, 0, 0.42] : [0.12, 0.17, 0.24, 0.17], middle, reach: reach * 1.2 });
    for (const part of this.parts) show(this.flat, part, mat.mul(flatten, bodies[part.body + 1]));
    gl.disable(gl.STENCIL_TEST);
    const scale = 10 ** Math.floor(Math.log10(R)), cell = (R / scale > 5 ? 2 : R / scale > 2 ? 1 : 0.5) * scale / 2;
    use(this.grid, { VP, ink: this.dark ? [0.62, 0.7, 0.8] : [0.36, 0.44, 0.54], middle, cell, reach });
    const s = 3 * reach;
    show(this.grid, this.quad, new Float32Array([s, 0, 0, 0, 0, s, 0, 0, 0, 0, 1, 0, middle[0], middle[1], z, 1]));
    gl.depthMask(true);
  }

  home() { this.camera = { ...this.first, at: this.first.at.slice() }; this.dirty = true; }

  orbit(dx, dy) {
    const c = this.camera;
    c.turn -= dx * 0.007; c.rise = Math.max(-1.5, Math.min(1.5, c.rise + dy * 0.007)); this.dirty = true;
  }

  shift(dx, dy) {
    const c = this.camera, z = unit(sub(this.eye(), this.at())), x = unit(cross([0, 0, 1], z)), y = cross(z, x);
    const s = (2 * Math.tan(0.36) * c.far) / this.canvas.clientHeight;
    for (let d = 0; d < 3; d++) c.at[d] += (-x[d] * dx + y[d] * dy) * s;
    this.dirty = true;
  }

  zoom(factor) {
    const c = this.camera, R = this.data.radius;
    c.far = Math.max(0.15 * R, Math.min(30 * R, c.far * factor)); this.dirty = true;
  }

  listen() {
    const canvas = this.canvas, down = new Map();
    let gap = 0;
    canvas.addEventListener("contextmenu", (e) => e.preventDefault());
    canvas.addEventListener("dblclick", () => this.home());
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(Math.exp(Math.sign(e.deltaY) * Math.min(Math.abs(e.deltaY), 80) * 0.0016)); }, { passive: false });
    canvas.addEventListener("pointerdown", (e) => { canvas.setPointerCapture(e.pointerId); down.set(e.pointerId, [e.clientX, e.clientY]); gap = 0; });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, (e) => { down.delete(e.pointerId); gap = 0; });
    canvas.addEventListener("pointermove", (e) => {
      const before = down.get(e.pointerId);
      if (!before) return;
      const dx = e.clientX - before[0], dy = e.clientY - before[1];
      down.set(e.pointerId, [e.clientX, e.clientY]);
      if (down.size > 1) {
        const [a, b] = [...down.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (gap) this.zoom(gap / now);
        gap = now; this.shift(dx / 2, dy / 2);
      } else if (e.shiftKey || e.buttons & 6) this.shift(dx, dy);
      else this.orbit(dx, dy);
    });
  }
}
