"use strict";
// Draws each figure of class scene in the page: linked views of meshes, one camera for all of a
// scene. One WebGL context serves the whole page; its pictures are copied to plain canvases.
(() => {
  const canvas = document.createElement("canvas");
  const gl = canvas.getContext("webgl2", { antialias: true });
  if (!gl) return;

  const VERTEX = `#version 300 es
    in vec3 position; in vec3 normal; in float scalar; in vec3 color;
    uniform mat3 axes; uniform vec2 scale;
    out vec3 n; out float value; out vec3 rgb;
    void main() {
      vec3 p = axes * position;
      n = axes * normal; value = scalar; rgb = color;
      gl_Position = vec4(p.xy * scale, -0.5 * p.z, 1.0);
    }`;
  const FRAGMENT = `#version 300 es
    precision highp float; precision highp sampler2D;
    in vec3 n; in float value; in vec3 rgb;
    uniform sampler2D table; uniform int rows; uniform vec2 clim;
    uniform vec3 lamp; uniform vec4 weights;
    out vec4 result;
    void main() {
      vec3 base = rgb;
      if (rows > 0) {
        float level = (value - clim.x) / (clim.y - clim.x);
        int row = clamp(int(floor(level * float(rows))), 0, rows - 1);
        base = texelFetch(table, ivec2(row, 0), 0).rgb;
      }
      vec3 m = normalize(n);
      if (m.z < 0.0) m = -m;
      float cosine = dot(m, lamp);
      float mirrored = max(2.0 * cosine * m.z - lamp.z, 0.0);
      float sheen = cosine > 0.0 ? weights.z * pow(mirrored, weights.w) : 0.0;
      result = vec4((weights.x + weights.y * max(cosine, 0.0)) * base + sheen, 1.0);
    }`;

  const shader = (kind, source) => {
    const made = gl.createShader(kind);
    gl.shaderSource(made, source);
    gl.compileShader(made);
    return made;
  };
  const program = gl.createProgram();
  gl.attachShader(program, shader(gl.VERTEX_SHADER, VERTEX));
  gl.attachShader(program, shader(gl.FRAGMENT_SHADER, FRAGMENT));
  ["position", "normal", "scalar", "color"].forEach((name, i) =>
    gl.bindAttribLocation(program, i, name));
  gl.linkProgram(program);
  if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return;
  gl.useProgram(program);
  gl.enable(gl.DEPTH_TEST);
  gl.pixelStorei(gl.UNPACK_ALIGNMENT, 1);
  const uniform = (name) => gl.getUniformLocation(program, name);

  const decoded = (Kind, text) =>
    new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);

  const buffer = (values, target = gl.ARRAY_BUFFER) => {
    const made = gl.createBuffer();
    gl.bindBuffer(target, made);
    gl.bufferData(target, values, gl.STATIC_DRAW);
    return made;
  };
  const attribute = (index, source, size, kind, normalized) => {
    gl.bindBuffer(gl.ARRAY_BUFFER, source);
    gl.enableVertexAttribArray(index);
    gl.vertexAttribPointer(index, size, kind, normalized, 0, 0);
  };

  // Sum of the area vectors of the faces about each vertex; the shader gives it length one.
  const normals = (p, faces) => {
    const total = new Float32Array(p.length);
    for (let f = 0; f < faces.length; f += 3) {
      const [a, b, c] = [3 * faces[f], 3 * faces[f + 1], 3 * faces[f + 2]];
      const u = [0, 1, 2].map((i) => (p[b + i] - p[a + i]) / 32767);
      const v = [0, 1, 2].map((i) => (p[c + i] - p[a + i]) / 32767);
      for (let i = 0; i < 3; i++) {
        const [j, k] = [(i + 1) % 3, (i + 2) % 3];
        const part = 1e4 * (u[j] * v[k] - u[k] * v[j]);
        total[a + i] += part; total[b + i] += part; total[c + i] += part;
      }
    }
    return total;
  };

  const loadMesh = (raw) => {
    const positions = decoded(Int16Array, raw.positions);
    const faces = decoded(raw.wide ? Uint32Array : Uint16Array, raw.faces);
    return {
      positions, count: faces.length,
      kind: raw.wide ? gl.UNSIGNED_INT : gl.UNSIGNED_SHORT,
      buffers: [buffer(positions), buffer(normals(positions, faces))],
      faces: buffer(faces, gl.ELEMENT_ARRAY_BUFFER),
    };
  };

  const loadField = (raw) => {
    const field = { clim: raw.clim, marker: raw.marker };
    if (raw.colors) field.colors = buffer(decoded(Uint8Array, raw.colors));
    if (raw.scalars) {
      field.values = decoded(Float32Array, raw.scalars);
      field.scalars = buffer(field.values);
      field.table = decoded(Uint8Array, raw.table);
      field.rows = field.table.length / 3;
      field.texture = gl.createTexture();
      gl.bindTexture(gl.TEXTURE_2D, field.texture);
      gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGB8, field.rows, 1, 0, gl.RGB, gl.UNSIGNED_BYTE,
        field.table);
      for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
        gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    }
    return field;
  };

  const element = (tag, parent, name) => {
    const made = parent.appendChild(document.createElement(tag));
    if (name) made.className = name;
    return made;
  };
  const short = (value) => String(Number(value.toPrecision(4))).replace("-", "\u2212");

  // The matrix, by rows, of a turn about a unit vector.
  const turn = ([x, y, z], angle) => {
    const [c, s] = [Math.cos(angle), Math.sin(angle)];
    const d = 1 - c;
    return [
      [c + d * x * x, d * x * y - s * z, d * x * z + s * y],
      [d * x * y + s * z, c + d * y * y, d * y * z - s * x],
      [d * x * z - s * y, d * y * z + s * x, c + d * z * z],
    ];
  };
  const product = (a, b) =>
    a.map((row) => [0, 1, 2].map((j) => row[0] * b[0][j] + row[1] * b[1][j] + row[2] * b[2][j]));

  class Scene {
    constructor(figure) {
      const raw = JSON.parse(figure.querySelector("script").textContent);
      [this.home, this.up] = [raw.axes, raw.up];
      this.light = raw.light;
      const meshes = raw.meshes.map(loadMesh);
      figure.querySelector(".missing").remove();
      const bar = element("div", figure, "bar");
      const grid = element("div", figure, "views");
      figure.prepend(bar, grid);
      this.views = raw.views.map((view) => this.loadView(view, meshes, grid));
      this.choose(bar, [...new Set(raw.views.flatMap((view) => Object.keys(view.fields)))]);
      this.reset();
      new ResizeObserver(() => this.draw()).observe(grid);
    }

    loadView(raw, meshes, grid) {
      const box = element("div", grid, "view");
      element("h3", box).textContent = raw.title;
      const drawing = element("canvas", box);
      drawing.tabIndex = 0;
      drawing.setAttribute("role", "img");
      drawing.setAttribute("aria-label", raw.title);
      const view = {
        canvas: drawing, mesh: meshes[raw.mesh], marked: null,
        fields: new Map(Object.entries(raw.fields).map(([k, field]) => [k, loadField(field)])),
        partners: raw.partners && decoded(Uint32Array, raw.partners), other: raw.partnerView,
        scale: element("div", box, "scale"), said: element("p", box, "said"),
      };
      this.listen(view);
      return view;
    }

    choose(bar, names) {
      this.field = names[0];
      if (names.length < 2) return this.showScales();
      const label = element("label", bar);
      label.append("Colour: ");
      const choice = element("select", label);
      for (const name of names) element("option", choice).textContent = name;
      choice.addEventListener("change", () => {
        this.field = names[choice.selectedIndex];
        this.showScales();
        this.mark(this.views[0], null);
      });
      this.showScales();
    }

    showScales() {
      for (const view of this.views) {
        const field = view.fields.get(this.field);
        view.scale.replaceChildren();
        if (!field || !field.values) continue;
        element("span", view.scale).textContent = short(field.clim[0]);
        const strip = element("canvas", view.scale);
        [strip.width, strip.height] = [field.rows, 1];
        const pixels = new ImageData(field.rows, 1);
        for (let i = 0; i < field.rows; i++)
          pixels.data.set([...field.table.subarray(3 * i, 3 * i + 3), 255], 4 * i);
        strip.getContext("2d").putImageData(pixels, 0, 0);
        element("span", view.scale).textContent = short(field.clim[1]);
      }
    }

    listen(view) {
      const on = (name, action) => view.canvas.addEventListener(name, action);
      let last = null;
      on("pointerdown", (event) => {
        last = [event.clientX, event.clientY];
        view.canvas.setPointerCapture(event.pointerId);
      });
      on("pointerup", () => { last = null; });
      on("pointercancel", () => { last = null; });
      on("pointermove", (event) => {
        if (!last) return this.point(view, event);
        const rate = 3 / view.canvas.clientHeight;
        this.rotate(rate * (event.clientX - last[0]), rate * (event.clientY - last[1]));
        last = [event.clientX, event.clientY];
      });
      on("pointerleave", () => this.mark(view, null));
      on("dblclick", () => this.reset());
      on("wheel", (event) => {
        if (document.activeElement !== view.canvas) return;
        event.preventDefault();
        this.enlarge(Math.exp(-0.0015 * event.deltaY));
      });
      const keys = {
        ArrowLeft: () => this.rotate(-0.1, 0), ArrowRight: () => this.rotate(0.1, 0),
        ArrowUp: () => this.rotate(0, -0.1), ArrowDown: () => this.rotate(0, 0.1),
        "+": () => this.enlarge(1.1), "-": () => this.enlarge(1 / 1.1), 0: () => this.reset(),
      };
      on("keydown", (event) => {
        if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
        event.preventDefault();
        keys[event.key]();
      });
    }

    // As on a turntable: what is up in the mesh stays upright.
    rotate(right, down) {
      this.axes = product(product(turn([1, 0, 0], down), this.axes), turn(this.up, right));
      this.draw();
    }

    enlarge(factor) {
      this.zoom = Math.min(Math.max(this.zoom * factor, 0.5), 40);
      this.draw();
    }

    reset() {
      this.axes = this.home;
      this.zoom = 1;
      this.draw();
    }

    // Pixels of the canvas from units of the mesh.
    scaleOf(view) {
      return (0.5 * this.zoom * Math.min(view.canvas.width, view.canvas.height)) / 1.04;
    }

    place(view, vertex) {
      const p = view.mesh.positions.subarray(3 * vertex, 3 * vertex + 3);
      const [x, y, z] = this.axes.map((a) => (a[0] * p[0] + a[1] * p[1] + a[2] * p[2]) / 32767);
      const s = this.scaleOf(view);
      return [0.5 * view.canvas.width + s * x, 0.5 * view.canvas.height - s * y, z];
    }

    // The vertex under the pointer: near it, and in front.
    point(view, event) {
      const ratio = view.canvas.width / view.canvas.clientWidth;
      const [px, py] = [event.offsetX * ratio, event.offsetY * ratio];
      const [p, [a, b, c]] = [view.mesh.positions, this.axes];
      const s = this.scaleOf(view) / 32767;
      const [dx, dy] = [0.5 * view.canvas.width - px, 0.5 * view.canvas.height - py];
      let [best, found] = [-Infinity, null];
      for (let i = 0; i < p.length; i += 3) {
        const x = dx + s * (a[0] * p[i] + a[1] * p[i + 1] + a[2] * p[i + 2]);
        const y = dy - s * (b[0] * p[i] + b[1] * p[i + 1] + b[2] * p[i + 2]);
        const away = Math.hypot(x, y) / ratio;
        if (away > 14) continue;
        const z = (c[0] * p[i] + c[1] * p[i + 1] + c[2] * p[i + 2]) / 32767;
        if (z - 0.02 * away > best) [best, found] = [z - 0.02 * away, i / 3];
      }
      this.mark(view, found);
    }

    mark(view, vertex) {
      for (const other of this.views) [other.marked, other.said.textContent] = [null, ""];
      if (vertex !== null) {
        if (view.partners) this.say(this.views[view.other], view.partners[vertex]);
        this.say(view, vertex);
      }
      this.draw();
    }

    say(view, vertex) {
      const field = view.fields.get(this.field);
      view.marked = vertex;
      view.said.textContent = `vertex ${vertex}` +
        (field && field.values ? `: ${short(field.values[vertex])}` : "");
    }

    draw() {
      if (this.waiting) return;
      this.waiting = true;
      requestAnimationFrame(() => {
        this.waiting = false;
        this.views.forEach((view) => this.drawView(view));
      });
    }

    drawView(view) {
      const ratio = Math.min(window.devicePixelRatio || 1, 2);
      const width = Math.max(1, Math.round(view.canvas.clientWidth * ratio));
      const height = Math.max(1, Math.round(view.canvas.clientHeight * ratio));
      [view.canvas.width, view.canvas.height] = [width, height];
      if (canvas.width !== width || canvas.height !== height)
        [canvas.width, canvas.height] = [width, height];
      gl.viewport(0, 0, width, height);
      gl.clearColor(0, 0, 0, 0);
      gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
      const field = view.fields.get(this.field);
      this.bind(view.mesh, field);
      const s = this.scaleOf(view);
      gl.uniform2f(uniform("scale"), (2 * s) / width, (2 * s) / height);
      gl.uniformMatrix3fv(uniform("axes"), true, this.axes.flat());
      gl.drawElements(gl.TRIANGLES, view.mesh.count, view.mesh.kind, 0);
      const flat = view.canvas.getContext("2d");
      flat.drawImage(canvas, 0, 0);
      if (field && field.marker !== null) this.dot(flat, view, field.marker, "#ed178f", ratio);
      if (view.marked !== null) this.dot(flat, view, view.marked, "#111", ratio);
    }

    bind(mesh, field) {
      attribute(0, mesh.buffers[0], 3, gl.SHORT, true);
      attribute(1, mesh.buffers[1], 3, gl.FLOAT, false);
      gl.disableVertexAttribArray(2);
      gl.disableVertexAttribArray(3);
      gl.vertexAttrib3f(3, ...this.light.grey);
      if (field && field.values) {
        attribute(2, field.scalars, 1, gl.FLOAT, false);
        gl.bindTexture(gl.TEXTURE_2D, field.texture);
        gl.uniform2f(uniform("clim"), ...field.clim);
      }
      if (field && field.colors) attribute(3, field.colors, 3, gl.UNSIGNED_BYTE, true);
      gl.uniform1i(uniform("rows"), field && field.values ? field.rows : 0);
      const length = Math.hypot(...this.light.lamp);
      gl.uniform3f(uniform("lamp"), ...this.light.lamp.map((x) => x / length));
      gl.uniform4f(uniform("weights"), ...this.light.weights);
      gl.bindBuffer(gl.ELEMENT_ARRAY_BUFFER, mesh.faces);
    }

    // Full where the vertex faces the eye, a ring where it lies behind the middle.
    dot(flat, view, vertex, color, ratio) {
      const [x, y, z] = this.place(view, vertex);
      flat.beginPath();
      flat.arc(x, y, 5 * ratio, 0, 2 * Math.PI);
      flat.fillStyle = color;
      flat.strokeStyle = z < 0 ? color : "#fff";
      flat.lineWidth = 1.5 * ratio;
      if (z >= 0) flat.fill();
      flat.stroke();
    }
  }

  document.querySelectorAll("figure.scene").forEach((figure) => new Scene(figure));
})();
